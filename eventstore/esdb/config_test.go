package esdb

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenRejectsBadAddressesInOneLine(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"", "must begin with esdb://"},
		{"localhost:2113", "must begin with esdb://"},
		{"http://localhost:2113", "must begin with esdb://"},
		{"esdb://", "a host is missing"},
		{"esdb://?tls=false", "a host is missing"},
		{"esdb://user:secret@", "a host is missing"},
		{"esdb://a,,b", "a host is missing"},
		{"esdb://localhost:99999", `"99999" is not a port`},
		{"esdb://localhost:0", `"0" is not a port`},
		{"esdb://localhost:x", `"x" is not a port`},
		{"esdb://user:secret@localhost:x", `"x" is not a port`},
		{"esdb://user:secret?secret@localhost:x", `"x" is not a port`},
		{"esdb://localhost:", `"" is not a port`},
		{"esdb://a,b:70000", `"70000" is not a port`},
		{"esdb://localhost/path", "is not a host"},
		{"esdb://localhost?tsl=false", `unknown setting "tsl"`},
		{"esdb://localhost?tls=no", `setting "tls" must be true or false`},
		{"esdb://localhost?tls=true&tls=false", `setting "tls" is given twice`},
		{"esdb://localhost?keepAliveInterval=-2", `setting "keepAliveInterval" must be an integer of at least -1`},
		{"esdb://localhost?gossipTimeout=soon", `setting "gossipTimeout" must be an integer of at least 1`},
		{"esdb://localhost?nodePreference=best", "NodePreference"},
		{"esdb://localhost?tls=%zz", "the settings must have the form"},
		{"esdb://localhost?userCertFile=a", "userKeyFile"},
		{"esdb://:secret@localhost", "empty username"},
		{"esdb://us er:secret@localhost", "userinfo"},
	} {
		_, err := Open(c.address, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, c.want, c.address)
		require.True(t, strings.HasPrefix(err.Error(), "event store address: "), err.Error())
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestOpenAcceptsAddresses(t *testing.T) {
	for _, address := range []string{
		"esdb://localhost",
		"esdb://127.0.0.1:2113?tls=false",
		"esdb://127.0.0.1:2113/?tls=false&keepAliveInterval=-1&keepAliveTimeout=5000",
		"esdb+discover://user:secret@cluster.example:2113?nodePreference=leader&tlsVerifyCert=false",
		"esdb://one:1111,two:2222,three?maxDiscoverAttempts=5&discoveryInterval=10&gossipTimeout=9",
	} {
		log, err := Open(address, slog.New(slog.DiscardHandler))
		require.NoError(t, err, address)
		require.Equal(t, 1, log.config.MaxDiscoverAttempts, "the Log repeats the discovery itself")
		require.Equal(t, 2, log.config.GossipTimeout)
		require.NoError(t, log.Close())
	}
}

package esdb

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// The map settings contains a function for each setting in a connection string. The
// function checks the setting's value. The keys are in lower case. The client ignores
// unknown settings. This package rejects them, so that operators notice typos.
var settings = map[string]func(string) error{
	"defaultdeadline":     integer(1),
	"discoveryinterval":   integer(0),
	"gossiptimeout":       integer(1),
	"keepaliveinterval":   integer(-1),
	"keepalivetimeout":    integer(-1),
	"maxdiscoverattempts": integer(1),
	"nodepreference":      anything, // the client checks this value
	"tls":                 boolean,
	"tlscafile":           anything,
	"tlsverifycert":       boolean,
	"usercertfile":        anything,
	"userkeyfile":         anything,
}

func anything(string) error { return nil }

func boolean(v string) error {
	if v = strings.ToLower(v); v != "true" && v != "false" {
		return errors.New("must be true or false")
	}
	return nil
}

// integer returns a check that accepts every integer greater than or equal to a
// minimum.
func integer(least int) func(string) error {
	return func(v string) error {
		if n, err := strconv.Atoi(v); err != nil || n < least {
			return fmt.Errorf("must be an integer of at least %d", least)
		}
		return nil
	}
}

// parse reads a connection string. Its errors are one line and do not quote the
// string, because it may contain a password. parse overrides the settings of the
// client's discovery, so that the client makes only one short attempt to find its
// server. The Log repeats the attempt itself.
func parse(connectionString string) (es.Configuration, error) {
	if err := check(connectionString); err != nil {
		return es.Configuration{}, fmt.Errorf("event store address: %w", err)
	}
	config, err := es.ParseConnectionString(connectionString)
	if err == nil {
		err = config.Validate()
	}
	if err != nil {
		return es.Configuration{}, fmt.Errorf("event store address: %w", withoutAddress(err))
	}
	config.NodePreference = es.NodePreferenceLeader // every call requires the leader, see requiresLeader
	config.MaxDiscoverAttempts = 1
	config.DiscoveryInterval = 0
	config.GossipTimeout = int(discoveryTimeout / time.Second)
	return *config, nil
}

// discoveryTimeout is how long the client's discovery waits for one server. The
// client accepts only whole seconds.
const discoveryTimeout = 2 * time.Second

// check returns an error if the string contains a mistake that the client would
// ignore.
func check(connectionString string) error {
	scheme, rest, found := strings.Cut(connectionString, "://")
	if !found || scheme != "esdb" && scheme != "esdb+discover" {
		return errors.New("must begin with esdb:// or esdb+discover://")
	}
	rest = rest[strings.LastIndex(rest, "@")+1:] // remove the user and password, which errors must not quote
	address, query, _ := strings.Cut(rest, "?")
	for host := range strings.SplitSeq(strings.TrimSuffix(address, "/"), ",") {
		if err := checkHost(host); err != nil {
			return err
		}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the settings must have the form ?name=value&name=value")
	}
	for name, value := range values {
		allowed, known := settings[strings.ToLower(name)]
		if !known {
			return fmt.Errorf("unknown setting %q", name)
		}
		if len(value) > 1 {
			return fmt.Errorf("setting %q is given twice", name)
		}
		if err := allowed(value[0]); err != nil {
			return fmt.Errorf("setting %q %w", name, err)
		}
	}
	return nil
}

func checkHost(host string) error {
	name, port, found := strings.Cut(host, ":")
	if name == "" {
		return errors.New("a host is missing")
	}
	if strings.ContainsAny(name, "/ ") {
		return fmt.Errorf("%q is not a host", name)
	}
	if n, err := strconv.Atoi(port); found && (err != nil || n < 1 || n > 65535) {
		return fmt.Errorf("%q is not a port (1 to 65535)", port)
	}
	return nil
}

// withoutAddress removes the connection string from an error of net/url.
func withoutAddress(err error) error {
	var parsing *url.Error
	if errors.As(err, &parsing) {
		return parsing.Err
	}
	return err
}

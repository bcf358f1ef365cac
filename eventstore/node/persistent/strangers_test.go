package persistent

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/node/quota"
	"hexarena/eventstore/node/wire"
)

// The function owned() makes a stranger the owner of a group.
func owned(c *groupConfig) { c.Owner = "stranger" }

func (s *subscriber) park(e *api.ReadResp_ReadEvent) {
	s.requests <- &api.ReadReq{Content: &api.ReadReq_Nack_{Nack: &api.ReadReq_Nack{
		Action: api.ReadReq_Nack_Park, Ids: []*shared.UUID{e.GetEvent().GetId()},
	}}}
}

// If a group's owner has used up its allowance of writes, the group stops parking
// messages. It also stops reading once enough messages wait to be parked. The waiting
// messages are not lost: when the group is loaded again, its consumer receives them
// again.
func TestDelayedWritesLoseNothing(t *testing.T) {
	f := open(t)
	once := quota.Rate{Burst: 1, Every: time.Hour}
	f.groups.strangers.writes = quota.NewMeter(once, once)
	id0, _ := f.append("s")
	id1, _ := f.append("s")
	g := f.group("s", func(c *groupConfig) {
		c.Owner, c.HistoryBufferSize, c.ReadBatchSize = "stranger", 2, 1
		c.MinCheckpoint, c.MaxCheckpoint = 1000, 1000
	})
	w := f.join("s", 1)
	w.park(w.next())
	w.park(w.next())
	f.append("s")
	w.park(w.next())
	f.until(g, func() bool { return len(g.parking) == 2 && g.writes.Refused() > 0 })
	f.append("s")
	f.until(g, func() bool { return g.readLimit() == 0 })

	require.NoError(t, f.groups.restart(), "a delayed write does not delay the restart")
	require.Equal(t, codes.Canceled, wireCode(<-w.ended))
	_, end, err := g.parkedSpan()
	require.NoError(t, err)
	require.EqualValues(t, 1, end, "one message is parked")
	w = f.join("s", 10)
	for _, want := range [][16]byte{id0, id1} {
		got, err := wire.EventID(w.next().GetEvent().GetId())
		require.NoError(t, err)
		require.EqualValues(t, want, got)
	}
}

func wireCode(err error) codes.Code {
	if r, ok := err.(*wire.Refusal); ok { //nolint:errorlint // the service returns it unwrapped
		return r.Code
	}
	return status.Code(err)
}

// The stricter memory limits apply only to strangers.
func TestStrangersGetSmallBuffers(t *testing.T) {
	large := groupSettings{HistoryBufferSize: 1 << 30}
	trusted, stranger := groupConfig{groupSettings: large}, groupConfig{groupSettings: large}
	owned(&stranger)
	require.Equal(t, groupBuffer, trusted.buffer())
	require.Equal(t, strangersBuffer, stranger.buffer())
	require.Equal(t, groupInFlight, Service{}.largestConsumer())
	require.Equal(t, strangersInFlight, Service{}.Public().largestConsumer())
	reason := string(make([]byte, 10_000))
	require.Len(t, shortened(reason, ""), reasonBytes)
	require.Len(t, shortened(reason, "stranger"), strangersReason)
}

// A group expires only after it has had no consumers for some time.
func TestExpiry(t *testing.T) {
	f := open(t)
	f.groups.strangers.Expiry = time.Hour
	g := f.group("s", owned)
	f.append("s")
	w := f.join("s", 1)
	w.next()
	require.NoError(t, f.groups.expire(time.Now().Add(2*time.Hour)), "a group with a consumer does not expire")
	w.requests <- &api.ReadReq{} // an invalid message ends the call
	require.Error(t, <-w.ended)
	require.NoError(t, f.groups.expire(time.Now().Add(59*time.Minute)))
	_, err := f.groups.find("s", "g")
	require.NoError(t, err)
	require.NoError(t, f.groups.expire(time.Now().Add(2*time.Hour)))
	_, err = f.groups.find("s", "g")
	require.Equal(t, codes.NotFound, wireCode(err))
	f.groups.strangers.Expiry = 0
	f.group("s", owned)
	require.NoError(t, f.groups.expire(time.Now().Add(1000*time.Hour)), "0 means never")
	_, err = f.groups.find("s", g.config.Group)
	require.NoError(t, err)
}

// The function from() returns the context of a call from the given address.
func from(address string) context.Context {
	tcp := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
	return peer.NewContext(context.Background(), &peer.Peer{Addr: tcp})
}

// The tag of a network depends on the log's secret, and is the same for all addresses
// of the network.
func TestTagsOfNetworks(t *testing.T) {
	f := open(t)
	require.True(t, f.caller(from("192.0.2.1:1")).trusted())
	tag := func(secret, address string) string {
		f.groups.strangers.secret = []byte(secret)
		return f.Public().caller(from(address)).owner
	}
	mine := tag("secret", "192.0.2.1:1")
	require.NotEmpty(t, mine)
	require.Equal(t, mine, tag("secret", "192.0.2.1:2"))
	require.NotEqual(t, mine, tag("secret", "192.0.2.2:1"))
	require.NotEqual(t, mine, tag("other", "192.0.2.1:1"))
	require.Equal(t, tag("secret", "[2001:db8::1]:1"), tag("secret", "[2001:db8::2]:1"))
	require.NotEqual(t, tag("secret", "[2001:db8::1]:1"), tag("secret", "[2001:db8:1::1]:1"))
}

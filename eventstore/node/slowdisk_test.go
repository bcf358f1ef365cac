package node

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"hexarena/eventstore/node/storage"
)

// Each sync of the write-ahead log takes 10 ms to 30 s on the test's fake clock.
// Appends must slow down, and memory use must stay limited.
func TestSlowDisk(t *testing.T) {
	delays := []time.Duration{10 * time.Millisecond, 30 * time.Second}
	if raceShare > 1 {
		delays = delays[1:]
	}
	for _, delay := range delays {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { slowDown(t, delay) })
		})
	}
}

// More clients append at the same time than admission allows. Some append large
// events.
const (
	slowSmall  = 3000
	slowLarge  = 100
	slowRounds = 2
	smallData  = 300
	largeData  = 100 << 10
)

func slowDown(t *testing.T, delay time.Duration) {
	var slow atomic.Bool
	n := openOn(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if slow.Load() && isSync(op) && strings.HasSuffix(op.Path, ".log") {
			<-time.After(delay)
		}
		return nil
	})))
	slow.Store(true)
	begun := time.Now()
	var inside, most, acknowledged atomic.Int64 // bytes
	var running sync.WaitGroup
	for i := range slowSmall + slowLarge {
		size := smallData
		if i < slowLarge {
			size = largeData
		}
		running.Go(func() {
			for round := range slowRounds {
				call := &slowCall{ctx: t.Context(), stream: fmt.Sprintf("s-%d", i), revision: round, size: size, inside: &inside, most: &most}
				if err := n.calls.Append(call); err != nil {
					t.Errorf("append %d: %v", i, err)
				}
				if call.answered.GetSuccess().GetCurrentRevision() != uint64(round) {
					t.Errorf("append %d: %v", i, call.answered)
				}
				acknowledged.Add(1)
			}
		})
	}
	running.Wait()
	took := time.Since(begun)
	slow.Store(false)

	// The limit is the number of calls in each tier, times the size of these events. A call
	// leaves its tier before it is answered, so the next one may already be in.
	const bound = 2 * (2048*smallData + (32+1)*largeData)
	require.LessOrEqual(t, most.Load(), int64(bound), "bytes received but not answered")
	require.EqualValues(t, slowRounds*(slowSmall+slowLarge), acknowledged.Load())
	order := map[string]uint64{}
	for p := (storage.Page{}); !p.End; {
		var err error
		p, err = n.log.Store.LogPage(storage.Range{From: p.Next, Within: n.log.Tail.End(), Limit: storage.PageRecords})
		require.NoError(t, err)
		for _, r := range p.Records {
			require.Equal(t, order[r.Stream], r.Revision)
			order[r.Stream]++
		}
	}
	require.NoError(t, n.Close())
	t.Logf("%d appends from %d concurrent clients, %d MB in total, took %v of fake time; at most %d KB were received but not yet answered, within the limit of %d KB; none failed, all in order",
		acknowledged.Load(), slowSmall+slowLarge, slowRounds*(slowLarge*largeData+slowSmall*smallData)>>20, took.Round(delay), most.Load()>>10, bound>>10)
}

// slowCall is the call of an append, in the form in which gRPC passes it to the
// service. When it has received its event, it adds the size of the event to a counter
// that all calls share. It subtracts the size when it is answered.
type slowCall struct {
	grpc.ServerStream
	ctx          context.Context
	stream       string
	revision     int
	size         int
	sent         int
	inside, most *atomic.Int64
	answered     *api.AppendResp
}

func (c *slowCall) Context() context.Context { return c.ctx }

func (c *slowCall) Recv() (*api.AppendReq, error) {
	c.sent++
	switch c.sent {
	case 1:
		o := appendOptions(c.stream, int64(c.revision)-1)
		return &api.AppendReq{Content: &api.AppendReq_Options_{Options: o}}, nil
	case 2:
		e := wireEvent("T", uuid.New(), strings.Repeat("x", c.size))
		return &api.AppendReq{Content: &api.AppendReq_ProposedMessage_{ProposedMessage: e}}, nil
	default:
		now := c.inside.Add(int64(c.size))
		for {
			most := c.most.Load()
			if now <= most || c.most.CompareAndSwap(most, now) {
				return nil, io.EOF
			}
		}
	}
}

func (c *slowCall) SendAndClose(m *api.AppendResp) error {
	c.inside.Add(-int64(c.size))
	c.answered = m
	return nil
}

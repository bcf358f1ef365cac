package persistent

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/streams"
)

// A group that reads the whole log without a filter must not save a checkpoint because
// of its own checkpoints.
func TestGroupOverAllDoesNotFeedOnItself(t *testing.T) {
	f := open(t)
	for range 3 {
		f.append("s")
	}
	g := f.group(sourceAll)
	s := f.join(sourceAll, 50)
	for {
		e := s.next()
		s.ack(e)
		if string(e.GetEvent().GetStreamIdentifier().GetStreamName()) == record.MetadataPrefix+g.config.checkpointStream() {
			break // the first checkpoint caused this event
		}
	}
	_, last := f.append("end")
	e := s.next()
	require.Equal(t, last, e.GetCommitPosition())
	s.ack(e)
	f.until(g, func() bool { return g.checkpoint.at >= last })
	g.mu.Lock()
	defer g.mu.Unlock()
	_, due := g.checkpointDue()
	require.False(t, due)
}

// The type interrupted is a strategy that interrupts its group while the group reads
// the source. The second call to the method pin() acknowledges the first message and
// reloads all groups.
type interrupted struct {
	strategy
	group    *group
	first    uuid.UUID
	consumer *consumer
	pins     int
	restart  func()
}

func (s *interrupted) add(c *consumer) {
	s.consumer = c
	s.strategy.add(c)
}

func (s *interrupted) pin(streams *streams.Reader, r *record.Record) (uint32, error) {
	if s.pins++; s.pins == 2 {
		s.group.ack(s.consumer, []uuid.UUID{s.first})
		go s.restart()
		<-s.group.ctx.Done()
	}
	return s.strategy.pin(streams, r)
}

func TestGroupDroppedDuringAReadSavesItsCheckpoint(t *testing.T) {
	f := open(t)
	id, _ := f.append("s")
	g := f.group("s")
	restarted := make(chan error, 1)
	g.strategy = &interrupted{strategy: g.strategy, group: g, first: id, restart: func() { restarted <- f.groups.restart() }}
	require.EqualValues(t, 0, f.join("s", 1).next().GetEvent().GetStreamRevision())
	f.append("s")
	require.NoError(t, <-restarted)
	again, err := f.groups.find("s", "g")
	require.NoError(t, err)
	require.True(t, again.checkpoint.stored)
	require.Zero(t, again.checkpoint.at)
	require.EqualValues(t, 1, f.join("s", 1).next().GetEvent().GetStreamRevision(), "the group continues after the checkpoint")
}

// A timeout uses up a retry. If no retries are left, the group parks the message. The
// test sets a long timeout and calls the method expire() itself, because a short
// timeout could pass before a message is sent.
func TestGroupRetriesAfterTimeouts(t *testing.T) {
	f := open(t)
	f.append("s")
	f.append("s")
	g := f.group("s", func(c *groupConfig) { c.MaxRetryCount, c.MessageTimeout = 1, 3_600_000 })
	s := f.join("s", 1)
	for _, want := range []struct {
		revision uint64
		retries  int32
	}{{0, 0}, {0, 1}, {1, 0}} {
		e := s.next()
		require.Equal(t, want.revision, e.GetEvent().GetStreamRevision())
		require.Equal(t, want.retries, e.GetRetryCount())
		g.expire(time.Now().Add(2 * time.Hour))
		g.kick.Signal()
	}
	for {
		if _, end, err := g.parkedSpan(); err != nil || end == 1 {
			require.NoError(t, err)
			break
		}
		require.NoError(t, f.ctx.Err())
		<-time.After(time.Millisecond)
	}
}

func TestSubscribersOfAllGroupsAreBounded(t *testing.T) {
	f := open(t)
	f.append("s")
	f.group("s")
	f.groups.consumers.Store(groupConsumers)
	require.Equal(t, codes.ResourceExhausted, status.Code(<-f.join("s", 1).ended))
	f.groups.consumers.Store(0)
	f.join("s", 1).next()
}

package node

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/writer"
)

// interrupted is a strategy during whose second pin, while the group reads its
// source, the first message is acknowledged and the groups are loaded again.
type interrupted struct {
	strategy
	group    *persistentGroup
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

// A group that is dropped in the middle of its work leaves a checkpoint of what
// was acknowledged.
func TestPersistentDroppedAtWork(t *testing.T) {
	f := serve(t)
	id := uuid.New()
	f.must("s", writer.Any, wireEvent("T", id, "{}"))
	team := f.team("s", settings(checkpointing))
	g, err := f.node.persistent.groups.find("s", "g")
	require.NoError(t, err)
	restarted := make(chan error, 1)
	g.strategy = &interrupted{strategy: g.strategy, group: g, first: id, restart: func() { restarted <- f.node.persistent.groups.restart() }}
	w := team.join(1)
	require.EqualValues(t, 0, w.revision(0))
	f.must("s", writer.Any, fresh(1)...)
	require.NoError(t, <-restarted)
	require.Equal(t, "0", f.infoOf("s", "g").GetLastCheckpointedEventPosition())
	require.EqualValues(t, 1, team.join(1).revision(0), "the checkpoint counts")
}

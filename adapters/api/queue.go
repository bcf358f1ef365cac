package api

import (
	"cmp"
	"context"
	"time"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
)

// Queue counts the bots that are waiting for a table, and knows when each bot can get
// its next table.
type Queue interface {
	// Waiting returns the number of bots that are ready to be seated in a mode. The
	// number may be up to one second old.
	Waiting(ctx context.Context, mode string) (int, error)
	// Places returns what the ladder of a mode knows about the next table of each bot,
	// in the order of the bots.
	Places(ctx context.Context, mode string, bots []ladder.Candidate) ([]Place, error)
	// NextTick returns the time of the next seating, or the zero time if this
	// process seats no tables.
	NextTick(now time.Time) time.Time
}

type queueQuery struct {
	Mode string `query:"mode" enum:"standard,parley" doc:"Default: standard."`
}

func (s *Server) getQueue(c *call, in *queueQuery) (out rest.Queue, err error) {
	out = rest.Queue{Mode: cmp.Or(in.Mode, ladder.Standard), NextTick: rest.FormatTimeOrNull(s.Queue.NextTick(s.Now()))}
	out.Waiting, err = s.Queue.Waiting(c.ctx, out.Mode)
	return out, err
}

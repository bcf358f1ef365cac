package api

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

var (
	accounts = eventstore.Kind[owner.Account, owner.Event]{Decode: owner.Decode, Evolve: owner.Evolve}
	names    = eventstore.Kind[owner.Name, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolveName}
)

// load folds an owner's account.
func (s *Server) load(ctx context.Context, ownerID string) (owner.Account, error) {
	a, _, err := accounts.Load(ctx, s.Log, accountStream(ownerID), owner.Account{})
	return a, err
}

// change decides on the caller's account, stores what was decided, and waits
// until look-ups find it. The caller's credential must hold at the very
// revision that is decided on: what was revoked meanwhile writes nothing.
func (c *call) change(decide func(owner.Account) ([]owner.Event, error)) (owner.Account, error) {
	s := c.server
	unlock := s.locks.lock(c.caller.OwnerID)
	account, at, err := accounts.Handle(c.ctx, s.Log, accountStream(c.caller.OwnerID), owner.Account{}, c.meta,
		func(a owner.Account) ([]owner.Event, error) {
			if err := a.Admit(c.caller, c.meta.At); err != nil {
				return nil, err
			}
			return decide(a)
		})
	unlock()
	if err != nil {
		return account, err
	}
	c.await(at)
	return account, nil
}

// await waits until look-ups find what was stored. What is stored stays so: a
// directory that lags for long delays an answer, and does not change it.
func (c *call) await(at eventstore.Position) {
	if at == 0 {
		return
	}
	if err := c.server.Directory.Wait(c.ctx, at); err != nil {
		c.server.Logger.WarnContext(c.ctx, "the directory lags", slog.Any("error", err), slog.String("request", c.meta.Correlation))
	}
}

func accountStream(ownerID string) eventstore.StreamID {
	return eventstore.StreamID(owner.AccountStream(ownerID))
}

// ownerLocks lets one change at a time decide on an account: many at once would
// only make each other decide anew. The log alone is what keeps them apart.
type ownerLocks [64]sync.Mutex

var lockSeed = maphash.MakeSeed()

func (l *ownerLocks) lock(ownerID string) (unlock func()) {
	m := &l[maphash.String(lockSeed, ownerID)%uint64(len(l))]
	m.Lock()
	return m.Unlock
}

package admin

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hexarena/domain/arena"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// maxReason is how long a reason may be, in code points.
const maxReason = 500

// reason is what every order says.
type reason struct {
	Reason string `json:"reason"`
}

func (r reason) text() string { return strings.TrimSpace(r.Reason) }

func (r reason) check() error {
	text := r.text()
	switch {
	case text == "":
		return &fieldError{"reason", "is missing: an order says why"}
	case utf8.RuneCountInString(text) > maxReason:
		return &fieldError{"reason", "must have at most 500 characters"}
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return &fieldError{"reason", "must be one line of text"}
	}
	return nil
}

// whom names an account or a bot by its id.
type whom struct {
	reason
	Owner string `json:"owner"`
	Bot   string `json:"bot"`
}

func (w whom) check() error {
	if (w.Owner == "") == (w.Bot == "") {
		return &fieldError{"owner", "or bot must be named, by its id, and not both"}
	}
	return w.reason.check()
}

type which struct {
	reason
	Match string `json:"match"`
}

func (w which) check() error {
	if w.Match == "" {
		return &fieldError{"match", "is missing"}
	}
	return w.reason.check()
}

// Done is what an order answers; one that had been carried out before has
// changed nothing.
type Done struct {
	Changed bool   `json:"changed"`
	Owner   string `json:"owner,omitempty"`
	Bot     string `json:"bot,omitempty"`
	Match   string `json:"match,omitempty"`
}

func (s *Server) drain(c *call, in reason) (any, error) {
	return s.operate(c, "drain", in, func(o arena.Operations) ([]arena.Event, error) { return o.StartDrain(in.text()) })
}

func (s *Server) undrain(c *call, in reason) (any, error) {
	return s.operate(c, "undrain", in, func(o arena.Operations) ([]arena.Event, error) { return o.EndDrain(in.text()) })
}

var operations = eventstore.Kind[arena.Operations, arena.Event]{Decode: arena.DecodeOperations, Evolve: arena.EvolveOperations}

// operate stores what was decided while nobody is being seated here, so that a
// drain that was answered holds.
func (s *Server) operate(c *call, name string, in reason, decide func(arena.Operations) ([]arena.Event, error)) (any, error) {
	var done Done
	var err error
	s.Player.WithSeatingPaused(func() {
		_, _, err = operations.Handle(c.ctx, s.Log, arena.OperationsStream, arena.Operations{}, c.meta, noting(&done, decide))
	})
	if err != nil {
		return nil, err
	}
	s.carriedOut(c, name, in, done)
	return done, nil
}

// noting decides and notes whether there was anything to store.
func noting[S, E any](done *Done, decide func(S) ([]E, error)) func(S) ([]E, error) {
	return func(state S) ([]E, error) {
		events, err := decide(state)
		done.Changed = len(events) > 0
		return events, err
	}
}

func (s *Server) suspend(c *call, in whom) (any, error) {
	return s.change(c, "suspend", in, func(a owner.Account) ([]owner.Event, error) {
		if in.Bot != "" {
			return a.SuspendBot(in.Bot, in.text())
		}
		return a.Suspend(in.text())
	})
}

func (s *Server) restore(c *call, in whom) (any, error) {
	return s.change(c, "restore", in, func(a owner.Account) ([]owner.Event, error) {
		if in.Bot != "" {
			return a.RestoreBot(in.Bot, in.text())
		}
		return a.Restore(in.text())
	})
}

// change changes an account, and returns once all who look it up here know.
func (s *Server) change(c *call, name string, in whom, decide func(owner.Account) ([]owner.Event, error)) (any, error) {
	ownerID := in.Owner
	if in.Bot != "" {
		var ok bool
		if ownerID, ok = s.Directory.OwnerOfBot(in.Bot); !ok {
			return nil, owner.ErrBotUnknown
		}
	}
	done := Done{Owner: ownerID, Bot: in.Bot}
	_, position, err := s.Accounts.Change(c.ctx, ownerID, c.meta, noting(&done, decide))
	if err != nil {
		return nil, err
	}
	s.carriedOut(c, name, in.reason, done)
	return done, s.Directory.Wait(c.ctx, position)
}

func (s *Server) abort(c *call, in which) (any, error) {
	if err := s.Player.Abort(c.ctx, in.Match, in.text(), c.id); err != nil {
		return nil, err
	}
	done := Done{Changed: true, Match: in.Match}
	s.carriedOut(c, "abort", in.reason, done)
	return done, nil
}

func (s *Server) rotate(c *call, in reason) (any, error) {
	var rotation Rotation
	var err error
	s.Player.WithSeatingPaused(func() { rotation, err = s.Player.Rotate(c.ctx, in.text(), c.meta) })
	if err != nil {
		return nil, err
	}
	s.carriedOut(c, "rotate-seed-key", in, Done{Changed: true})
	return rotation, nil
}

// carriedOut logs an order. Whoever reads the log of the process may know the
// ids and the reason; the events have them too.
func (s *Server) carriedOut(c *call, name string, in reason, d Done) {
	s.Logger.InfoContext(c.ctx, "an operator's order", "order", name, "reason", in.text(), "changed", d.Changed,
		"owner", d.Owner, "bot", d.Bot, "match", d.Match, "request", c.id)
}

// Status is how the arena stands.
type Status struct {
	Plays    bool       `json:"plays"`            // this process does
	Running  int        `json:"running"`          // matches that it plays
	Draining bool       `json:"draining"`         // nobody is seated, on the whole log
	Reason   string     `json:"reason,omitempty"` // of the last order to drain or undrain
	Since    *time.Time `json:"since,omitempty"`  // of that order
	SeedKey  string     `json:"seedKey"`          // the id of the one in use
}

var keys = eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}

func (s *Server) status(ctx context.Context) (Status, error) {
	o, err := Operations(ctx, s.Log)
	if err != nil {
		return Status{}, err
	}
	k, _, err := keys.Load(ctx, s.Log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return Status{}, err
	}
	status := Status{Draining: o.Draining, Reason: o.Reason}
	if !o.Since.IsZero() {
		status.Since = &o.Since
	}
	status.Running, status.Plays = s.Player.Running()
	seedKey, _ := k.CurrentSeed()
	status.SeedKey = seedKey.ID
	return status, nil
}

// Operations is what operators have ordered of the arena as a whole, as its log
// has it now. Each of its events says all, so the last one is read alone.
func Operations(ctx context.Context, log eventstore.Log) (o arena.Operations, err error) {
	for r, err := range log.Read(ctx, arena.OperationsStream, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return o, errors.Join(errOperations, err)
		}
		if o, err = operations.Fold(o, r); err != nil {
			return o, err
		}
	}
	return o, nil
}

var errOperations = errors.New("the operators' orders cannot be read")

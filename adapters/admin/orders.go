package admin

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hexarena/adapters/rest/problem"
	"hexarena/domain/arena"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// maxReason is the maximum length of a reason, in code points.
const maxReason = 500

// order contains the field that all orders have: the reason. Its check method returns
// an error if the reason is missing or invalid.
type order struct {
	Reason string `json:"reason,omitempty"`
}

func (o order) text() string { return strings.TrimSpace(o.Reason) }

func (o order) check() error {
	text := o.text()
	switch {
	case text == "":
		return problem.InvalidField("reason", "is missing: say why you give this order")
	case utf8.RuneCountInString(text) > maxReason:
		return problem.InvalidField("reason", "must have at most 500 characters")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return problem.InvalidField("reason", "must be one line of text")
	}
	return nil
}

// accountOrder is an order that concerns one account or one bot.
type accountOrder struct {
	order
	Owner string `json:"owner,omitempty"`
	Bot   string `json:"bot,omitempty"`
}

func (a accountOrder) check() error {
	if (a.Owner == "") == (a.Bot == "") {
		return problem.InvalidField("owner", "or bot is required: give the id of exactly one of them")
	}
	return a.order.check()
}

type matchOrder struct {
	order
	Match string `json:"match,omitempty"`
}

func (m matchOrder) check() error {
	if m.Match == "" {
		return problem.InvalidField("match", "is missing")
	}
	return m.order.check()
}

// Done is the response to an order. Changed is false if the order had already been
// carried out.
type Done struct {
	Changed bool   `json:"changed"`
	Owner   string `json:"owner,omitempty"`
	Bot     string `json:"bot,omitempty"`
	Match   string `json:"match,omitempty"`
}

func (s *Server) drain(c *call, in order) (any, error) {
	return s.changeOperations(c, "drain", in, func(o arena.Operations) ([]arena.Event, error) { return o.StartDrain(in.text()) })
}

func (s *Server) undrain(c *call, in order) (any, error) {
	return s.changeOperations(c, "undrain", in, func(o arena.Operations) ([]arena.Event, error) { return o.EndDrain(in.text()) })
}

var operations = eventstore.Kind[arena.Operations, arena.Event]{Decode: arena.DecodeOperations, Evolve: arena.EvolveOperations}

// changeOperations pauses seating in this process while it stores an order. So once the
// operator receives the response to a drain, no more tables are seated.
func (s *Server) changeOperations(c *call, name string, in order, decide func(arena.Operations) ([]arena.Event, error)) (any, error) {
	var done Done
	var err error
	s.Player.WithSeatingPaused(func() {
		_, _, err = operations.Handle(c.ctx, s.Log, arena.OperationsStream, arena.Operations{}, c.meta, recording(&done, decide))
	})
	if err != nil {
		return nil, err
	}
	s.logOrder(c, name, in, done)
	return done, nil
}

// The function recording() returns a function that calls decide, and sets done.Changed
// to true if decide returned events.
func recording[S, E any](done *Done, decide func(S) ([]E, error)) func(S) ([]E, error) {
	return func(state S) ([]E, error) {
		events, err := decide(state)
		done.Changed = len(events) > 0
		return events, err
	}
}

func (s *Server) suspend(c *call, in accountOrder) (any, error) {
	return s.change(c, "suspend", in, func(a owner.Account) ([]owner.Event, error) {
		if in.Bot != "" {
			return a.SuspendBot(in.Bot, in.text())
		}
		return a.Suspend(in.text())
	})
}

func (s *Server) restore(c *call, in accountOrder) (any, error) {
	return s.change(c, "restore", in, func(a owner.Account) ([]owner.Event, error) {
		if in.Bot != "" {
			return a.RestoreBot(in.Bot, in.text())
		}
		return a.Restore(in.text())
	})
}

// change applies an order to an account, and returns once the directory includes the
// result. If the directory does not catch up in time, change succeeds anyway, because the
// order is already carried out.
func (s *Server) change(c *call, name string, in accountOrder, decide func(owner.Account) ([]owner.Event, error)) (any, error) {
	ownerID := in.Owner
	if in.Bot != "" {
		var err error
		if ownerID, err = s.Directory.OwnerOfBot(c.ctx, in.Bot); err != nil {
			return nil, err
		}
	}
	done := Done{Owner: ownerID, Bot: in.Bot}
	_, position, err := s.Accounts.Change(c.ctx, ownerID, c.meta, recording(&done, decide))
	if err != nil {
		return nil, err
	}
	s.logOrder(c, name, in.order, done)
	if !done.Changed {
		return done, nil
	}
	if err := s.Directory.Wait(c.ctx, position); err != nil {
		s.Logger.WarnContext(c.ctx, "the directory has not caught up", "error", err, "request", c.id)
	}
	return done, nil
}

func (s *Server) abort(c *call, in matchOrder) (any, error) {
	if err := s.Player.Abort(c.ctx, in.Match, in.text(), c.id); err != nil {
		return nil, err
	}
	done := Done{Changed: true, Match: in.Match}
	s.logOrder(c, "abort", in.order, done)
	return done, nil
}

func (s *Server) rotate(c *call, in order) (any, error) {
	var rotation Rotation
	var err error
	s.Player.WithSeatingPaused(func() { rotation, err = s.Player.Rotate(c.ctx, in.text(), c.meta) })
	if err != nil {
		return nil, err
	}
	s.logOrder(c, "rotate-seed-key", in, Done{Changed: true})
	return rotation, nil
}

// logOrder logs an order that was carried out. The stored events contain the same ids
// and the same reason.
func (s *Server) logOrder(c *call, name string, in order, d Done) {
	s.Logger.InfoContext(c.ctx, "operator's order carried out", "order", name, "reason", in.text(), "changed", d.Changed,
		"owner", d.Owner, "bot", d.Bot, "match", d.Match, "request", c.id)
}

// Status is the response to GET status.
type Status struct {
	Plays    bool       `json:"plays"`            // whether this process plays matches
	Seats    bool       `json:"seats"`            // whether this process seats tables; only one process does
	Running  int        `json:"running"`          // number of matches that are running in this process
	Draining bool       `json:"draining"`         // true if no process that uses this log may seat tables
	Reason   string     `json:"reason,omitempty"` // the reason for the last drain or undrain
	Since    *time.Time `json:"since,omitempty"`  // the time of that order
	SeedKey  string     `json:"seedKey"`          // id of the seed key for new tables; empty during an outage
	Lease    *Holder    `json:"lease,omitempty"`  // who has the right to seat tables; absent if nobody has it, and during an outage
	Shared

	// During an outage of the log, these fields are set, and the fields that are read from
	// the log are not.
	LogUnavailableSeconds float64 `json:"logUnavailableSeconds,omitempty"` // how long the log has been unavailable
	Stopped               string  `json:"stopped,omitempty"`               // what has stopped because of that
}

// Holder is the process that has the right to seat tables.
type Holder struct {
	Member     string    `json:"member"`     // its id among the members
	Host       string    `json:"host"`       // the name of its machine
	Generation uint64    `json:"generation"` // counts how often the right was claimed
	Renewed    time.Time `json:"renewed"`    // when it last renewed the right, by its own clock
}

var leases = eventstore.Kind[arena.Player, arena.Event]{Decode: arena.DecodePlayer, Evolve: arena.EvolvePlayer}

var keys = eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}

// statusTime limits how long the status waits for the log.
const statusTime = 3 * time.Second

// status waits for the log only while the log is available.
func (s *Server) status(ctx context.Context) (Status, error) {
	status, out := s.outageStatus(0)
	if out {
		return status, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	status, err := s.statusFromLog(ctx)
	if err != nil {
		if during, out := s.outageStatus(statusTime); out && table.Of(err).Code == "log_unavailable" {
			return during, nil
		}
		return status, err
	}
	s.addOwnState(&status)
	return status, nil
}

// outageStatus returns the status while the log is unavailable. It returns false if the
// log is available.
func (s *Server) outageStatus(atLeast time.Duration) (status Status, out bool) {
	if s.Outage == nil {
		return status, false
	}
	since, stopped := s.Outage(atLeast)
	if since == 0 {
		return status, false
	}
	status = Status{LogUnavailableSeconds: since.Round(time.Second / 10).Seconds(), Stopped: stopped}
	s.addOwnState(&status)
	return status, true
}

func (s *Server) statusFromLog(ctx context.Context) (status Status, err error) {
	o, err := Operations(ctx, s.Log)
	if err != nil {
		return status, err
	}
	k, _, err := keys.Load(ctx, s.Log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return status, err
	}
	p, _, err := leases.Load(ctx, s.Log, arena.PlayerStream, arena.Player{})
	if err != nil {
		return status, err
	}
	seedKey, _ := k.CurrentSeed()
	status = Status{Draining: o.Draining, Reason: o.Reason, SeedKey: seedKey.ID}
	if !o.Since.IsZero() {
		status.Since = &o.Since
	}
	if p.Playing {
		status.Lease = &Holder{Member: p.Holder, Host: p.Host, Generation: p.Generation, Renewed: p.At}
	}
	return status, nil
}

// addOwnState adds what this process knows without the log.
func (s *Server) addOwnState(status *Status) {
	status.Running, status.Plays = s.Player.Running()
	status.Seats = s.Player.Seats()
	status.Shared = s.Player.Shared()
}

// Operations reads the operators' orders for the whole arena from the log. Each
// event contains the complete state, so Operations reads only the last event.
func Operations(ctx context.Context, log eventstore.Log) (o arena.Operations, err error) {
	for r, err := range log.Read(ctx, arena.OperationsStream, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return o, fmt.Errorf("read the operators' orders: %w", err)
		}
		if o, err = operations.Fold(o, r); err != nil {
			return o, err
		}
	}
	return o, nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"hexarena/adapters/api"
	"hexarena/adapters/botwire"
	"hexarena/adapters/referee"
	"hexarena/adapters/web"
	botstate "hexarena/domain/health"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/directory"
	"hexarena/projections/health"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
)

// Adapters do not import one another. The types in this file adapt them to each
// other's interfaces.

// directoryAdapter adapts the directory to the interfaces that other adapters
// declare.
type directoryAdapter struct {
	*directory.Directory
	runner *projections.Runner
}

// Wait implements api.Directory.
func (d directoryAdapter) Wait(ctx context.Context, at eventstore.Position) error {
	return d.runner.Wait(ctx, at)
}

// CatchUp implements matchmaker.Directory.
func (d directoryAdapter) CatchUp(ctx context.Context) error { return d.runner.Sync(ctx) }

// Key implements auth.Directory.
func (d directoryAdapter) Key(id string) (directory.Key, bool, error) {
	whole := d.runner.Reading()
	k, found := d.Directory.Key(id)
	return k, found, whole()
}

// Registrations implements auth.Directory.
func (d directoryAdapter) Registrations(ctx context.Context, public []byte) ([]directory.Key, error) {
	if err := d.CatchUp(ctx); err != nil {
		return nil, cmp.Or(d.runner.Serving(), err)
	}
	whole := d.runner.Reading()
	list := d.KeysOf(public)
	return list, whole()
}

// Candidates implements matchmaker.Directory.
func (d directoryAdapter) Candidates(_ context.Context, mode string) ([]ladder.Candidate, error) {
	var list []ladder.Candidate
	whole := d.runner.Reading()
	for _, b := range d.Active(mode) {
		list = append(list, ladder.Candidate{BotID: b.ID, Registered: b.RegisteredAt, StatusChanged: b.StatusChanged})
	}
	return list, whole()
}

// The method playing() implements referee.Options.Bots. While the directory is behind,
// playing() finds no bot, because an entry may still lack its latest URL or name.
func (d directoryAdapter) playing(botID string) (directory.Bot, bool) {
	whole := d.runner.Reading()
	b, found := d.Bot(botID)
	return b, found && !errors.Is(whole(), projections.ErrBehind)
}

// The type candidates is the directory that the matchmaker uses. While the signed log
// is behind the event log, candidates reports that it is behind, too. A match starts
// only after a signed head includes its table, so the matchmaker would otherwise seat
// bots at tables that cannot start.
type candidates struct {
	directoryAdapter
	signedLog signedLogReader
	heads     *ladderHeads
}

// CatchUp implements matchmaker.Directory. If the log has lost events that a signed head
// covers, it returns an error, so that nobody is seated.
func (c candidates) CatchUp(ctx context.Context) error {
	if err := c.directoryAdapter.CatchUp(ctx); err != nil {
		return err
	}
	if err := c.signedLog.awaitWhole(ctx); err != nil {
		return err
	}
	return cmp.Or(c.heads.check(ctx), c.heads.kept.err())
}

// OwnerOfBot implements admin.Directory.
func (d directoryAdapter) OwnerOfBot(ctx context.Context, botID string) (ownerID string, err error) {
	if b, found := d.Bot(botID); found {
		return b.OwnerID, nil
	}
	if err := d.CatchUp(ctx); err != nil {
		return "", cmp.Or(d.runner.Serving(), err)
	}
	whole := d.runner.Reading()
	if b, found := d.Bot(botID); found {
		return b.OwnerID, nil
	}
	return "", cmp.Or(whole(), owner.ErrBotUnknown)
}

// The type list is the list of matches. It returns errors once its runner has stopped,
// because its rows are then out of date.
type list struct {
	*matches.Matches
	runner *projections.Runner
}

// Get implements api.Matches.
func (l list) Get(id string) (matches.Summary, bool, error) {
	whole := l.runner.Reading()
	m, found, err := l.Matches.Get(id)
	return m, found, cmp.Or(whole(), err)
}

// Voided implements api.Matches.
func (l list) Voided(id string) (mode, reason string, found bool, err error) {
	whole := l.runner.Reading()
	mode, reason, found, err = l.Matches.Voided(id)
	return mode, reason, found, cmp.Or(whole(), err)
}

// List implements api.Matches.
func (l list) List(q matches.Query) (page []matches.Summary, next string, known bool, err error) {
	whole := l.runner.Reading()
	page, next, known, err = l.Matches.List(q)
	return page, next, known, cmp.Or(whole(), err)
}

// From implements api.Matches.
func (l list) From(botID, first string, limit int) (page []matches.Summary, known bool, err error) {
	whole := l.runner.Reading()
	page, known, err = l.Matches.From(botID, first, limit)
	return page, known, cmp.Or(whole(), err)
}

// The type rankings is the leaderboard with the directory's names. It returns errors
// once the runner of the leaderboard or of the directory has stopped.
type rankings struct {
	*leaderboard.Leaderboard
	runner    *projections.Runner
	directory directoryAdapter
}

func (r rankings) reading() (whole func() error) {
	board, names := r.runner.Reading(), r.directory.runner.Reading()
	return func() error { return cmp.Or(board(), names()) }
}

// Rows implements api.Leaderboard.
func (r rankings) Rows(mode string) ([]leaderboard.Row, error) {
	whole := r.reading()
	rows := r.Leaderboard.Rows(mode, r.directory.names)
	return rows, whole()
}

// Version implements api.Leaderboard.
func (r rankings) Version() (uint64, error) {
	whole := r.reading()
	version := r.Leaderboard.Version() + r.directory.Version()
	return version, whole()
}

// RowsAt implements api.Leaderboard.
func (r rankings) RowsAt(mode string, at time.Time) ([]leaderboard.Row, error) {
	whole := r.reading()
	rows, err := r.Leaderboard.RowsAt(mode, at, r.directory.names)
	return rows, cmp.Or(whole(), err)
}

// History implements api.Leaderboard.
func (r rankings) History(botID string) (api.BotHistory, bool, error) {
	whole := r.reading()
	h, ok, err := r.Leaderboard.History(botID)
	b, _ := r.directory.Bot(botID)
	history := api.BotHistory{History: h, Name: b.Name, Owner: r.directory.Handle(b.OwnerID)}
	return history, ok, cmp.Or(whole(), err)
}

// changesTime is how long emails about other topics may wait for the read model of
// health, which may be rebuilding itself.
const changesTime = 5 * time.Second

// botHealth gives the API access to the health of bots and to the events of their
// owners. Its methods return an error once its runner has stopped.
type botHealth struct {
	*health.Health
	runner *projections.Runner
}

// Of implements api.Health.
func (h botHealth) Of(botID string) (botstate.Bot, error) {
	whole := h.runner.Reading()
	b, err := h.Health.Of(botID)
	return b, cmp.Or(whole(), err)
}

// Changes implements notices.Health.
func (h botHealth) Changes(ctx context.Context, since time.Time) ([]health.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, changesTime)
	defer cancel()
	if err := h.runner.Sync(ctx); err != nil {
		return nil, err
	}
	return h.Health.Changes(since)
}

// Wait implements api.Events.
func (h botHealth) Wait(ctx context.Context, p eventstore.Position) error {
	return h.runner.Wait(ctx, p)
}

// Changed implements api.Events.
func (h botHealth) Changed() <-chan struct{} { return h.runner.Changed() }

// Newest implements api.Events.
func (h botHealth) Newest(ownerID string) (health.ID, int64, error) {
	whole := h.runner.Reading()
	id, n, err := h.Health.Newest(ownerID)
	return id, n, cmp.Or(whole(), err)
}

// After implements api.Events.
func (h botHealth) After(ownerID string, id health.ID) (int64, error) {
	whole := h.runner.Reading()
	n, err := h.Health.After(ownerID, id)
	return n, cmp.Or(whole(), err)
}

// Events implements api.Events.
func (h botHealth) Events(ownerID string, n int64, limit int) ([]health.Event, error) {
	whole := h.runner.Reading()
	list, err := h.Health.Events(ownerID, n, limit)
	return list, cmp.Or(whole(), err)
}

// spread implements web.Options.Spread. Pages do not show an unknown spread.
func (r rankings) spread(mode, at string) map[string]float64 {
	then, err := time.Parse(time.RFC3339, at)
	if err != nil {
		then = time.Now()
	}
	spread, err := r.Spread(mode, then)
	if err != nil {
		return nil
	}
	return spread
}

// house implements web.Options.House.
func (d directoryAdapter) house(botID string) bool {
	b, ok := d.Bot(botID)
	return ok && d.Handle(b.OwnerID) == owner.House
}

// The method registered() implements web.Options.Registered.
func (d directoryAdapter) registered(botID string) (web.Bot, bool, error) {
	whole := d.runner.Reading()
	b, found := d.Bot(botID)
	return web.Bot{Name: b.Name, Owner: d.Handle(b.OwnerID), Mode: b.Mode}, found && !b.Removed, whole()
}

// The method names() returns the names that the leaderboard shows for a bot and its
// owner.
func (d directoryAdapter) names(botID string) (name, owner string, ok bool) {
	b, ok := d.Bot(botID)
	return b.Name, d.Handle(b.OwnerID), ok && !b.Removed
}

// ladderTrees adapts the ladder trees to the interface of the witnesses' client.
type ladderTrees struct {
	heads *ladderHeads
	log   signedLogReader
}

// SignedHead implements witness.Trees.
func (l ladderTrees) SignedHead(mode string) ([]byte, error) {
	h, err := l.heads.Head(mode)
	return h.Signed, err
}

// Consistency implements witness.Trees.
func (l ladderTrees) Consistency(ctx context.Context, mode string, from, to uint64) ([][]byte, error) {
	return l.log.LadderConsistency(ctx, mode, from, to)
}

// dial adapts a botwire dialer to the referee's interface.
func dial(d *botwire.Dialer) referee.Dial {
	return func(ctx context.Context, url, matchID string, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
		line, accepted, err := d.Dial(ctx, url, matchID, botwire.Upgrade(u), receive)
		if err != nil {
			return nil, referee.Accepted{}, err // an explicit nil, because an interface with a nil pointer is not nil
		}
		return line, referee.Accepted(accepted), nil
	}
}

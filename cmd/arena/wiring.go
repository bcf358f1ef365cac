package main

import (
	"cmp"
	"context"
	"iter"
	"time"

	"hexarena/adapters/api"
	"hexarena/adapters/botwire"
	"hexarena/adapters/mail"
	"hexarena/adapters/pausemail"
	"hexarena/adapters/referee"
	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/directory"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
)

// Adapters do not know one another. What follows fits one's need to another's
// offer.

// people is the directory as the adapters need it.
type people struct {
	*directory.Directory
	runner *projections.Runner
}

// Wait implements api.Directory.
func (p people) Wait(ctx context.Context, at eventstore.Position) error {
	return p.runner.Wait(ctx, at)
}

// CatchUp implements matchmaker.Directory.
func (p people) CatchUp(ctx context.Context) error { return p.runner.Sync(ctx) }

// Candidates implements matchmaker.Directory.
func (p people) Candidates(_ context.Context, mode string) ([]ladder.Candidate, error) {
	var list []ladder.Candidate
	for _, b := range p.Active(mode) {
		list = append(list, ladder.Candidate{BotID: b.ID, Registered: b.RegisteredAt, StatusChanged: b.StatusChanged})
	}
	return list, p.runner.Err()
}

// OwnerOfBot implements admin.Directory.
func (p people) OwnerOfBot(botID string) (ownerID string, ok bool) {
	b, ok := p.Bot(botID)
	return b.OwnerID, ok
}

// player is what a referee wants to know of a bot.
func (p people) player(botID string) (referee.Bot, bool) {
	b, ok := p.Bot(botID)
	return referee.Bot{Name: b.Name, OwnerID: b.OwnerID, URL: b.URL}, ok
}

// notifier sends notices by mail.
type notifier struct{ mail.Mailer }

// SendBotPaused implements pausemail.Mailer.
func (n notifier) SendBotPaused(ctx context.Context, to string, m pausemail.Mail) error {
	return n.Mailer.SendBotPaused(ctx, to, mail.BotPaused(m))
}

// list is the list of matches, which answers nothing once it has stopped.
type list struct {
	*matches.Matches
	runner *projections.Runner
}

// Get implements api.Matches.
func (l list) Get(id string) (matches.Summary, bool, error) {
	if err := l.runner.Err(); err != nil {
		return matches.Summary{}, false, err
	}
	return l.Matches.Get(id)
}

// List implements api.Matches.
func (l list) List(q matches.Query) (page []matches.Summary, next string, known bool, err error) {
	if err := l.runner.Err(); err != nil {
		return nil, "", false, err
	}
	return l.Matches.List(q)
}

// rankings is the leaderboard with the directory's names. It answers nothing
// once one of the two has stopped.
type rankings struct {
	*leaderboard.Leaderboard
	runner *projections.Runner
	people people
}

func (r rankings) err() error { return cmp.Or(r.runner.Err(), r.people.runner.Err()) }

// Rows implements api.Leaderboard.
func (r rankings) Rows(mode string) ([]leaderboard.Row, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return r.Leaderboard.Rows(mode, r.people.names), nil
}

// Version implements api.Leaderboard.
func (r rankings) Version() (uint64, error) {
	return r.Leaderboard.Version() + r.people.Version(), r.err()
}

// RowsAt implements api.Leaderboard.
func (r rankings) RowsAt(mode string, at time.Time) ([]leaderboard.Row, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return r.Leaderboard.RowsAt(mode, at, r.people.names)
}

// History implements api.Leaderboard.
func (r rankings) History(botID string) (api.BotHistory, bool, error) {
	if err := r.err(); err != nil {
		return api.BotHistory{}, false, err
	}
	h, ok, err := r.Leaderboard.History(botID)
	b, _ := r.people.Bot(botID)
	return api.BotHistory{History: h, Name: b.Name, Owner: r.people.Handle(b.OwnerID)}, ok, err
}

// spread implements web.Options.Spread: where it is not known it is not shown.
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

// names is what the leaderboard shows of a bot.
func (p people) names(botID string) (name, owner string, ok bool) {
	b, ok := p.Bot(botID)
	return b.Name, p.Handle(b.OwnerID), ok && !b.Removed
}

// wire is botwire's dialer as others need it.
type wire struct{ *botwire.Dialer }

// dial implements referee.Dial.
func (w wire) dial(ctx context.Context, url, matchID, commitment string, receive func([]byte, string)) (referee.Line, string, error) {
	line, nonce, err := w.Dial(ctx, url, matchID, commitment, receive)
	if err != nil {
		return nil, "", err
	}
	return line, nonce, nil
}

// Check implements api.Checker.
func (w wire) Check(ctx context.Context, url string) iter.Seq[rest.Step] {
	return func(yield func(rest.Step) bool) {
		for s := range w.Dialer.Check(ctx, url) {
			if !yield(rest.Step{Name: s.Name, OK: s.OK, Detail: s.Detail, ElapsedMs: s.Elapsed.Milliseconds()}) {
				return
			}
		}
	}
}

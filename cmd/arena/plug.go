package main

import (
	"context"

	"hexarena/adapters/api"
	"hexarena/adapters/botwire"
	"hexarena/adapters/mail"
	"hexarena/adapters/notice"
	"hexarena/adapters/referee"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/directory"
	"hexarena/projections/leaderboard"
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

// player is what a referee wants to know of a bot.
func (p people) player(botID string) (referee.Bot, bool) {
	b, ok := p.Bot(botID)
	return referee.Bot{Name: b.Name, OwnerID: b.OwnerID, URL: b.URL}, ok
}

// notifier sends notices by mail.
type notifier struct{ mail.Mailer }

// SendBotPaused implements notice.Mailer.
func (n notifier) SendBotPaused(ctx context.Context, to string, p notice.Paused) error {
	return n.Mailer.SendBotPaused(ctx, to, mail.BotPaused(p))
}

// rankings is the leaderboard with the directory's names.
type rankings struct {
	*leaderboard.Leaderboard
	people people
}

// Rows implements api.Leaderboard.
func (r rankings) Rows(mode string) []leaderboard.Row {
	return r.Leaderboard.Rows(mode, r.people.names)
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
func (w wire) Check(ctx context.Context, url string) []api.Step {
	var steps []api.Step
	for _, s := range w.Dialer.Check(ctx, url) {
		steps = append(steps, api.Step{Name: s.Name, OK: s.OK, Detail: s.Detail, Elapsed: s.Elapsed})
	}
	return steps
}

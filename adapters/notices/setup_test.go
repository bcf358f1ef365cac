package notices_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/matchmaker"
	"hexarena/adapters/notices"
	domain "hexarena/domain/health"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/accounts"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
	"hexarena/projections/health"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

const (
	day  = 24 * time.Hour
	rest = 5 * time.Minute
	tick = 2 * time.Minute
)

// fixture is an arena in a synctest bubble, with everything from the log to the emails.
// Its fake referee ends every match immediately.
type fixture struct {
	t    *testing.T
	log  *memory.Log
	stop func()

	mu        sync.Mutex
	lines     bytes.Buffer
	down      map[string]bool // bots that never answer
	seats     []time.Time     // the times at which ada's bot was seated
	mails     []owner.Bot
	moved     []owner.Key
	health    map[string]domain.Bot // by bot id
	healthErr error                 // if not nil, the health of the bots is unknown
	aboutBots []aboutBot            // the emails about the health of bots
	pages     []string              // the page URLs in the emails
	mailFails bool                  // whether sending emails fails
	mailTakes time.Duration         // how long the mail server takes to confirm an email about health
	logFails  bool                  // whether changing accounts fails

	*process
}

// process contains the parts that a restart replaces.
type process struct {
	accounts *accounts.Accounts
	dir      *directory.Directory
	runner   *projections.Runner
	notifier *notices.Notifier
	ladder   *matchmaker.Ladder
}

// newFixture starts an arena in which some bots never answer.
func newFixture(t *testing.T, down ...string) *fixture {
	f := &fixture{t: t, log: memory.New(), down: map[string]bool{}, health: map[string]domain.Bot{}}
	for _, id := range down {
		f.down[id] = true
	}
	for _, id := range []string{"ada", "bob", "eve", "mia"} {
		f.own(id, owner.SignedUp{OwnerID: id}, owner.BotRegistered{BotID: "bot-" + id, Name: id, Mode: ladder.Standard})
		set, err := eventstore.Encode(owner.AddressSet{Address: id + "@example.org"}, f.now())
		require.NoError(t, err)
		_, err = f.log.Append(t.Context(), eventstore.StreamID(owner.AddressStream(id)), eventstore.NoStream, set)
		require.NoError(t, err)
	}
	pass(time.Second) // otherwise, a match could end at the time of a registration
	f.start()
	return f
}

func (f *fixture) now() eventstore.Metadata {
	return eventstore.Metadata{At: time.Now(), Correlation: "test"}
}

func (f *fixture) own(id string, events ...owner.Event) {
	f.t.Helper()
	_, _, err := accounts.New(f.log).Change(f.t.Context(), id, f.now(), func(owner.Account) ([]owner.Event, error) { return events, nil })
	require.NoError(f.t, err)
}

// start creates and starts a process, wired like the real one in cmd/arena.
func (f *fixture) start() {
	logger := slog.New(slog.NewTextHandler(f, nil))
	p := &process{accounts: accounts.New(f.log), dir: directory.New()}
	f.process = p
	p.runner = arenatest.Follow(f.t, f.log, p.dir)
	p.notifier = notices.New(notices.Options{Accounts: flakyAccounts{p.accounts, f}, Directory: p.dir, Health: f, Mailer: f, BaseURL: "https://arena.example", Logger: logger})
	p.ladder = matchmaker.NewLadder(f.log, matchmaker.LadderOptions{Mode: ladder.Standard, Rest: rest, PlatformKey: "cGxhdGZvcm0=", SeedKeys: seedKeys{}, Logger: logger})
	m := matchmaker.New(matchmaker.Options{
		Ladders: []*matchmaker.Ladder{p.ladder}, Directory: f, Assigner: f, Pauser: p.notifier, Tick: tick, Logger: logger,
	})
	ctx, cancel := context.WithCancel(f.t.Context())
	var all sync.WaitGroup
	all.Go(func() { m.Run(ctx) })
	all.Go(func() { p.notifier.Run(ctx) })
	f.stop = func() { cancel(); all.Wait() }
}

func (f *fixture) restart() {
	f.stop()
	f.start()
}

type seedKeys struct{}

func (seedKeys) CurrentSeedKey() (string, []byte) { return "k1", []byte("seed key of tests") }

func (f *fixture) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines.Write(b)
}

func (f *fixture) CatchUp(ctx context.Context) error { return f.runner.Sync(ctx) }

func (f *fixture) Candidates(_ context.Context, mode string) ([]ladder.Candidate, error) {
	var list []ladder.Candidate
	for _, b := range f.dir.Active(mode) {
		list = append(list, ladder.Candidate{BotID: b.ID, Registered: b.RegisteredAt, StatusChanged: b.StatusChanged})
	}
	return list, nil
}

// Assign ends the matches as soon as they are seated.
func (f *fixture) Assign(ctx context.Context) error {
	seatings, err := f.ladder.Unfinished(ctx)
	for _, s := range seatings {
		f.play(s)
	}
	return err
}

func (*fixture) Free() int { return 100 }

func (f *fixture) play(s ladder.Seating) {
	f.mu.Lock()
	var results []ladder.Result
	for i, b := range s.Bots {
		results = append(results, ladder.Result{BotID: b.BotID, Placement: i + 1, Missed: f.down[b.BotID]})
		if b.BotID == "bot-ada" {
			f.seats = append(f.seats, time.Now())
		}
	}
	f.mu.Unlock()
	err := f.ladder.Finish(f.t.Context(), s.MatchID, results)
	require.True(f.t, err == nil || errors.Is(err, ladder.ErrAlreadyFinished), "%v", err)
}

var errNoMail = errors.New("the mail server is down")

func (f *fixture) SendBotPaused(_ context.Context, to string, b owner.Bot, page string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mailFails {
		return errNoMail
	}
	f.mails, f.pages = append(f.mails, b), append(f.pages, page)
	require.Equal(f.t, fmt.Sprintf("%s@example.org", b.Name), to)
	return nil
}

func (f *fixture) SendKeyMoved(_ context.Context, to string, k owner.Key, page string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mailFails {
		return errNoMail
	}
	f.moved, f.pages = append(f.moved, k), append(f.pages, page)
	require.Equal(f.t, fmt.Sprintf("%s@example.org", k.Name), to)
	return nil
}

// aboutBot is an email about the health of a bot.
type aboutBot struct {
	bot, state     string
	since, trouble time.Time
	at             time.Time
}

func (f *fixture) SendBotHealth(ctx context.Context, to string, b owner.Bot, h domain.Bot, site string) error {
	f.mu.Lock()
	fails, takes := f.mailFails, f.mailTakes
	if !fails {
		f.aboutBots = append(f.aboutBots, aboutBot{b.ID, string(h.State), h.Since, h.Trouble, time.Now()})
	}
	f.mu.Unlock()
	if fails {
		return errNoMail
	}
	require.Equal(f.t, fmt.Sprintf("%s@example.org", b.Name), to)
	require.Equal(f.t, "https://arena.example", site)
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Changes implements notices.Health.
func (f *fixture) Changes(_ context.Context, since time.Time) (list []health.Change, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, h := range f.health {
		if !h.Trouble.IsZero() && !h.Since.Before(since) {
			list = append(list, health.Change{BotID: id, OwnerID: id[len("bot-"):], State: h.State, Since: h.Since, Trouble: h.Trouble})
		}
	}
	return list, f.healthErr
}

// Of implements notices.Health.
func (f *fixture) Of(botID string) (domain.Bot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.health[botID], f.healthErr
}

// becomes plays matches after which a bot has a state.
func (f *fixture) becomes(botID string, state domain.State) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	h, now := f.health[botID], time.Now().Truncate(time.Millisecond)
	switch state {
	case domain.Failing:
		for range 2 {
			h.Resigned("m", now)
			h.Ended("m", false, false, now)
		}
	case domain.Unreachable:
		h.TimedOut("m", match.DecisionTimedOut{}, 1, 3, now)
		h.Ended("m", true, false, now)
	case domain.OK:
		h.Ended("m", false, false, now)
	}
	require.Equal(f.t, state, h.State)
	f.health[botID] = h
}

// sentAbout returns the new emails about the health of bots, as "bot state".
func (f *fixture) sentAbout() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.aboutBots {
		list = append(list, m.bot+" "+m.state)
	}
	f.aboutBots = nil
	return list
}

// flakyAccounts is an Accounts whose changes fail while logFails is set.
type flakyAccounts struct {
	*accounts.Accounts
	f *fixture
}

func (l flakyAccounts) Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error) {
	l.f.mu.Lock()
	fails := l.f.logFails
	l.f.mu.Unlock()
	if fails {
		return owner.Account{}, 0, eventstore.ErrUnavailable
	}
	return l.Accounts.Change(ctx, ownerID, m, decide)
}

// set changes the behavior of the fakes, under their lock.
func (f *fixture) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// seatTimes returns the times at which ada's bot was seated since the last call.
func (f *fixture) seatTimes() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	seats := f.seats
	f.seats = nil
	return seats
}

func (f *fixture) mailed() []owner.Bot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mails
}

func (f *fixture) bot(id string) owner.Bot {
	f.t.Helper()
	account, err := accounts.New(f.log).Load(f.t.Context(), id)
	require.NoError(f.t, err)
	b, ok := account.Bot("bot-" + id)
	require.True(f.t, ok)
	return b
}

// The method stored() counts the events of one type in an account.
func (f *fixture) stored(id, eventType string) int {
	n := 0
	for r, err := range f.log.Read(f.t.Context(), eventstore.StreamID(owner.AccountStream(id)), 0, eventstore.ReadOptions{}) {
		require.NoError(f.t, err)
		if r.Type == eventType {
			n++
		}
	}
	return n
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

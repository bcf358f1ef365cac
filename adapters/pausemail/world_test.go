package pausemail_test

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
	"hexarena/adapters/pausemail"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/accounts"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

const (
	day  = 24 * time.Hour
	rest = 5 * time.Minute
	tick = 2 * time.Minute
)

// world is an arena in a bubble, from its log to its mails, with a referee that
// ends every match at once.
type world struct {
	t    *testing.T
	log  *memory.Log
	stop func()

	mu    sync.Mutex
	lines bytes.Buffer
	down  map[string]bool // bots that answer nothing
	seats []time.Time     // when ada's bot was seated
	mails []pausemail.Mail
	broke bool // mail cannot be sent
	away  bool // accounts cannot be changed

	*process
}

// process is what a restart makes anew.
type process struct {
	accounts *accounts.Accounts
	dir      *directory.Directory
	runner   *projections.Runner
	notices  *pausemail.Pauser
	ladder   *matchmaker.Ladder
}

// newWorld starts a world in which some bots answer nothing.
func newWorld(t *testing.T, down ...string) *world {
	w := &world{t: t, log: memory.New(), down: map[string]bool{}}
	for _, id := range down {
		w.down[id] = true
	}
	for _, id := range []string{"ada", "bob", "eve", "mia"} {
		w.own(id, owner.SignedUp{OwnerID: id}, owner.BotRegistered{BotID: "bot-" + id, Name: id, Mode: ladder.Standard})
		set, err := eventstore.Encode(owner.AddressSet{Address: id + "@example.org"}, w.now())
		require.NoError(t, err)
		_, err = w.log.Append(t.Context(), eventstore.StreamID(owner.AddressStream(id)), eventstore.NoStream, set)
		require.NoError(t, err)
	}
	pass(time.Second) // no match ends as a bot is registered
	w.start()
	return w
}

func (w *world) now() eventstore.Metadata {
	return eventstore.Metadata{At: time.Now(), Correlation: "test"}
}

func (w *world) own(id string, events ...owner.Event) {
	w.t.Helper()
	_, _, err := accounts.New(w.log).Change(w.t.Context(), id, w.now(), func(owner.Account) ([]owner.Event, error) { return events, nil })
	require.NoError(w.t, err)
}

// start plugs a process together, as cmd/arena does.
func (w *world) start() {
	logger := slog.New(slog.NewTextHandler(w, nil))
	p := &process{accounts: accounts.New(w.log), dir: directory.New()}
	w.process = p
	p.runner = arenatest.Follow(w.t, w.log, p.dir)
	p.notices = pausemail.New(pausemail.Options{Accounts: lossy{p.accounts, w}, Directory: p.dir, Mailer: w, BaseURL: "https://arena.example", Logger: logger})
	p.ladder = matchmaker.NewLadder(w.log, matchmaker.LadderConfig{Mode: ladder.Standard, Rest: rest, PlatformKey: "cGxhdGZvcm0=", SeedKeys: seedKeys{}})
	m := matchmaker.New(matchmaker.Config{
		Ladders: []*matchmaker.Ladder{p.ladder}, Directory: w, Referee: w, Pauser: p.notices, Tick: tick, Logger: logger,
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	var all sync.WaitGroup
	all.Go(func() { m.Run(ctx) })
	all.Go(func() { p.notices.Run(ctx) })
	w.stop = func() { cancel(); all.Wait() }
}

func (w *world) restart() {
	w.stop()
	w.start()
}

type seedKeys struct{}

func (seedKeys) CurrentSeedKey() (string, []byte) { return "k1", []byte("seed key of tests") }

func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines.Write(b)
}

func (w *world) CatchUp(ctx context.Context) error { return w.runner.Sync(ctx) }

func (w *world) Candidates(_ context.Context, mode string) ([]ladder.Candidate, error) {
	var list []ladder.Candidate
	for _, b := range w.dir.Active(mode) {
		list = append(list, ladder.Candidate{BotID: b.ID, Registered: b.RegisteredAt, StatusChanged: b.StatusChanged})
	}
	return list, nil
}

// Play ends a match the moment it is seated.
func (w *world) Play(s ladder.Seating) {
	w.mu.Lock()
	var results []ladder.Result
	for i, b := range s.Bots {
		results = append(results, ladder.Result{BotID: b.BotID, Placement: i + 1, Missed: w.down[b.BotID]})
		if b.BotID == "bot-ada" {
			w.seats = append(w.seats, time.Now())
		}
	}
	w.mu.Unlock()
	err := w.ladder.Finish(w.t.Context(), s.MatchID, results)
	require.True(w.t, err == nil || errors.Is(err, ladder.ErrAlreadyFinished), "%v", err)
}

var errNoMail = errors.New("no mail today")

func (w *world) SendBotPaused(_ context.Context, to string, p pausemail.Mail) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broke {
		return errNoMail
	}
	w.mails = append(w.mails, p)
	require.Equal(w.t, fmt.Sprintf("%s@example.org", p.Name), to)
	return nil
}

// lossy are accounts that cannot be changed while the log is away.
type lossy struct {
	*accounts.Accounts
	w *world
}

func (l lossy) Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error) {
	l.w.mu.Lock()
	away := l.w.away
	l.w.mu.Unlock()
	if away {
		return owner.Account{}, 0, eventstore.ErrUnavailable
	}
	return l.Accounts.Change(ctx, ownerID, m, decide)
}

// set changes what the fakes do, under their lock.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// taken returns when ada's bot was seated since it was last asked.
func (w *world) taken() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	seats := w.seats
	w.seats = nil
	return seats
}

func (w *world) mailed() []pausemail.Mail {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mails
}

func (w *world) bot(id string) owner.Bot {
	w.t.Helper()
	account, err := accounts.New(w.log).Load(w.t.Context(), id)
	require.NoError(w.t, err)
	b, ok := account.Bot("bot-" + id)
	require.True(w.t, ok)
	return b
}

// stored counts the events of a type in an account.
func (w *world) stored(id, eventType string) int {
	n := 0
	for r, err := range w.log.Read(w.t.Context(), eventstore.StreamID(owner.AccountStream(id)), 0, eventstore.ReadOptions{}) {
		require.NoError(w.t, err)
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

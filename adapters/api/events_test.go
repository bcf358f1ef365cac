package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	remote "hexarena/adapters/client"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/health"
)

// ownersEvents connects the model to its runner, as cmd/arena does.
type ownersEvents struct {
	*health.Health
	runner *projections.Runner
}

func (e ownersEvents) Wait(ctx context.Context, p eventstore.Position) error {
	return e.runner.Wait(ctx, p)
}

func (e ownersEvents) Changed() <-chan struct{} { return e.runner.Changed() }

// newEventsArena returns an arena with a model of events, and a journal that updates
// this model from the log.
func newEventsArena(t *testing.T, edits ...func(*api.Options)) (*arena, journal) {
	t.Helper()
	var runner *projections.Runner
	a := newArena(t, append([]func(*api.Options){func(o *api.Options) {
		model := health.New()
		runner = arenatest.Follow(t, o.Log, model)
		o.Events = ownersEvents{model, runner}
	}}, edits...)...)
	a.server.SetStreamPace(0) // tests read many events
	require.NoError(t, runner.Sync(t.Context()))
	return a, journal{t, a.log, runner}
}

// follow opens the client's stream of events.
func (c *client) follow(lastID string) *listener {
	c.t.Helper()
	l := c.listen("/me/events", lastEventID(lastID), c.authenticate)
	require.Equal(c.t, http.StatusOK, l.StatusCode)
	require.Equal(c.t, "text/event-stream", l.Header.Get("Content-Type"))
	return l
}

// authenticate adds the client's cookie or its signature to a request without a body.
func (c *client) authenticate(r *http.Request) {
	if c.cookie != nil {
		r.AddCookie(c.cookie)
		return
	}
	remote.Key{ID: c.keyID, Private: c.key}.Sign(r.Header, c.server.Now(), r.Method, r.URL.RequestURI(), nil)
}

// The method record() returns the stream's next record, and skips comments.
func (l *listener) record() string {
	l.t.Helper()
	var text strings.Builder
	for {
		line, err := l.lines.ReadString('\n')
		require.NoError(l.t, err)
		switch {
		case line != "\n" && line[0] != ':':
			text.WriteString(line)
		case text.Len() > 0:
			return text.String()
		}
	}
}

// The method told() returns the next event of a stream.
func (l *listener) told() (e health.Event) {
	l.t.Helper()
	text := l.record()
	_, data, _ := strings.Cut(text, "data: ")
	require.NoError(l.t, json.Unmarshal([]byte(data), &e), text)
	require.Equal(l.t, fmt.Sprintf("event: %s\nid: %s\ndata: %s", e.Type, e.ID, data), text)
	return e
}

// seatAndVoid appends events that seat bots and then void their match before it starts.
func (j journal) seatAndVoid(matchID string, bots ...string) {
	j.t.Helper()
	at := eventstore.Metadata{At: time.Date(2026, 9, 6, 13, 0, 0, 0, time.UTC)}
	j.append(ladder.Stream(ladder.Standard), at, ladder.TablesSeated{Tables: []ladder.Table{{MatchID: matchID, Bots: bots}}})
	j.append(ladder.Stream(ladder.Standard), at, ladder.MatchVoided{MatchID: matchID, Why: ladder.WhyBeacon})
}

func TestEventsForOwners(t *testing.T) {
	a, j := newEventsArena(t)
	ada, bob := a.signIn("ada@example.org"), a.signIn("bob@example.org")
	first, second := ada.newBot("first", ladder.Standard), ada.newBot("second", ladder.Standard)
	his := bob.newBot("his", ladder.Standard)
	require.NoError(t, j.sync.Sync(t.Context()))

	open := ada.follow("")
	require.Equal(t, "id: 0\n", open.record(), "the id of no event")
	j.seatAndVoid("m", first, second, his)
	want := []health.Event{open.told(), open.told(), open.told(), open.told()}
	for i, e := range want {
		require.Equal(t, []string{"2026-09-06T13:00:00.000Z", "m", ladder.Standard}, []string{e.At, e.MatchID, e.Mode})
		require.Equal(t, []string{first, second}[i%2], e.BotID)
		require.Equal(t, []string{health.BotSeated, health.MatchAborted}[i/2], e.Type)
		require.Equal(t, []string{"", ladder.WhyBeacon}[i/2], e.Reason)
	}
	ada.do(http.MethodPatch, "/bots/"+first, `{"status":"paused"}`).is(http.StatusOK)
	require.NoError(t, j.sync.Sync(t.Context()))
	paused := open.told()
	require.Equal(t, []string{health.BotPaused, "first", owner.ByOwner}, []string{paused.Type, paused.BotName, paused.By})
	want = append(want, paused)

	for i := range want {
		again := ada.follow(want[i].ID)
		for _, e := range want[i+1:] {
			require.Equal(t, e, again.told())
		}
	}
	all := ada.follow("0")
	for _, e := range want {
		require.Equal(t, e, all.told())
	}
	require.Equal(t, "id: "+paused.ID+"\n", ada.follow("").record())
	require.Equal(t, his, bob.follow("0").told().BotID)

	for name, id := range map[string]string{
		"not an id": "x", "no event": want[0].ID + "0", "the end of another log": "9999999.1",
	} {
		got := ada.do(http.MethodGet, "/me/events", nil, lastEventID(id)).is(http.StatusUnprocessableEntity, "invalid")
		require.Equal(t, "Last-Event-ID must be 0 or the id of one of your events", got.json["detail"], name)
	}
}

// A reader gets more events than one read of the rows returns.
func TestManyEvents(t *testing.T) {
	a, j := newEventsArena(t)
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("first", ladder.Standard)
	id := ada.do(http.MethodGet, "/me", nil).is(http.StatusOK).json["id"].(string)
	j.append(owner.AccountStream(id), eventstore.Metadata{}, slices.Repeat([]eventstore.Typed{owner.BotPaused{BotID: bot, By: owner.ByMisses}}, 300)...)
	l := ada.follow("0")
	seen := map[string]bool{}
	for range 300 {
		seen[l.told().ID] = true
	}
	require.Len(t, seen, 300)
}

// A reader cannot continue after an event that is older than the kept events. The tests
// of the read model check which events it keeps.
func TestEventsThatAreGone(t *testing.T) {
	a, j := newEventsArena(t, func(o *api.Options) { o.Events = forgetful{o.Events} })
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("first", ladder.Standard)
	require.NoError(t, j.sync.Sync(t.Context()))
	j.seatAndVoid("m", bot)
	got := ada.do(http.MethodGet, "/me/events", nil, lastEventID("1.1")).is(http.StatusGone, "event_gone")
	require.Contains(t, got.json["detail"], "no longer keeps the event in Last-Event-ID")
	require.Equal(t, "m", ada.follow("0").told().MatchID)
}

// The type forgetful is a read model that keeps none of the events that readers name.
type forgetful struct{ wrappedEvents }

func (e forgetful) After(ownerID string, id health.ID) (int64, error) {
	if id != (health.ID{}) {
		return 0, health.ErrEventTooOld
	}
	return e.wrappedEvents.After(ownerID, id)
}

// A reader that stops reading delays no other reader, and the arena takes no more events
// for it than the sockets can buffer. When it reads again, it misses nothing.
func TestReaderOfEventsThatStopsReading(t *testing.T) {
	const all = 600 // of 4 kB: much more than the sockets can buffer
	var taken *takenEvents
	a, j := newEventsArena(t, func(o *api.Options) { taken = &takenEvents{wrappedEvents: o.Events}; o.Events = taken })
	a.server.SetStreamTimes(time.Hour, time.Minute)
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("first", ladder.Standard)
	require.NoError(t, j.sync.Sync(t.Context()))
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(64<<10))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+"/me/events", nil)
	require.NoError(t, err)
	ada.authenticate(r)
	require.NoError(t, r.Write(conn))
	response, err := http.ReadResponse(bufio.NewReader(conn), r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	idle, other := &listener{response, t, bufio.NewReader(response.Body), nil}, ada.follow("")
	idle.record()
	other.record()

	large := owner.BotPaused{BotID: bot, By: owner.ByOperator, Reason: strings.Repeat("x", 4000)}
	id := ada.do(http.MethodGet, "/me", nil).is(http.StatusOK).json["id"].(string)
	for range all / 100 {
		j.append(owner.AccountStream(id), eventstore.Metadata{}, slices.Repeat([]eventstore.Typed{large}, 100)...)
	}
	var want []string
	for range all {
		want = append(want, other.told().ID)
	}
	require.Less(t, taken.n.Load()-all, int64(all/2), "taken for the reader that does not read")
	for _, id := range want {
		require.Equal(t, id, idle.told().ID)
	}
}

// takenEvents counts the events that streams take.
type takenEvents struct {
	wrappedEvents
	n atomic.Int64
}

func (e *takenEvents) Events(ownerID string, n int64, limit int) ([]health.Event, error) {
	list, err := e.wrappedEvents.Events(ownerID, n, limit)
	e.n.Add(int64(len(list)))
	return list, err
}

// wrappedEvents lets fakes embed the interface, which has a method of the same name.
type wrappedEvents = api.Events

// A read model that stays behind the log leads to 503, and the call may be repeated.
func TestEventsOfAReadModelThatIsBehind(t *testing.T) {
	a, j := newEventsArena(t, func(o *api.Options) { o.Events = behind{o.Events} })
	ada := a.signIn("ada@example.org")
	ada.newBot("first", ladder.Standard)
	require.NoError(t, j.sync.Sync(t.Context()))
	late := ada.do(http.MethodGet, "/me/events", nil, lastEventID("1.1")).is(http.StatusServiceUnavailable, "out_of_date")
	require.Equal(t, "1", late.header.Get("Retry-After"))
	require.Equal(t, "id: 0\n", ada.follow("").record(), "a stream of new events does not wait")
}

// The type behind is a read model that no call can wait for.
type behind struct{ wrappedEvents }

func (behind) Wait(context.Context, eventstore.Position) error { return context.DeadlineExceeded }

// If a key is revoked, its open stream sends no more events and ends. The next call
// with the key is refused.
func TestEventsEndWithTheKey(t *testing.T) {
	a, j := newEventsArena(t)
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("first", ladder.Standard)
	key, kept := ada.newKey(owner.BotsRead), ada.newKey(owner.BotsRead)
	require.NoError(t, j.sync.Sync(t.Context()))
	revoked, open := key.follow("0"), kept.follow("0")
	j.seatAndVoid("m", bot)
	require.Equal(t, open.told(), revoked.told())
	last := open.told()
	require.Equal(t, last, revoked.told())
	ada.do(http.MethodDelete, "/keys/"+key.keyID, nil).is(http.StatusNoContent)
	j.seatAndVoid("n", bot)
	revoked.over()
	require.Equal(t, "n", open.told().MatchID, "the stream of another key continues")
	key.do(http.MethodGet, "/me/events", nil, lastEventID(last.ID)).is(http.StatusUnauthorized, "unauthenticated")
	require.Equal(t, "n", kept.follow(last.ID).told().MatchID)
}

// A stream ends once its credentials are no longer valid.
func TestEventsEndWithTheSession(t *testing.T) {
	a, j := newEventsArena(t)
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("first", ladder.Standard)
	require.NoError(t, j.sync.Sync(t.Context()))
	l := ada.follow("0")
	j.seatAndVoid("m", bot, bot, bot)
	for range 6 {
		l.told() // the bot's seating and abort, for each of the three seats
	}
	ada.do(http.MethodPost, "/sign-out", nil).is(http.StatusNoContent)
	j.seatAndVoid("n", bot, bot, bot)
	l.over()
}

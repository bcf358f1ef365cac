// Package membership divides the matches among the processes that play on one log
// (docs/adr/0052-processes-share-the-matches.md and 0058-every-member-moves-matches.md).
// Each of these processes is a member. It sends heartbeats, follows those of the others,
// and plays the matches that the newest assignment gives to it. Create a [Members], pass
// [Members.Gate] to the referee, call [Members.Run] while the process plays, and
// [Members.Leave] after that. The process that seats tables also calls [Members.Watch] and
// [Members.Assign].
//
// The package does not know which process may seat, or how a match is played.
package membership

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

const (
	beatEvery  = 5 * time.Second
	gateTime   = 8 * time.Second   // how long the gate stays open after the start of the last stored heartbeat
	goneAfter  = gateTime          // a member is gone this long after its last heartbeat arrived; at least gateTime
	lateBeat   = 3 * beatEvery / 2 // the longest time between two returned heartbeats of an observer that was not interrupted
	lookEvery  = time.Second       // how often a process looks whether a heartbeat is due
	retryAfter = time.Second
)

// Referee plays matches.
type Referee interface {
	// Play starts or resumes a match in the background. It ignores matches that are
	// already being played.
	Play(s ladder.Seating)
	// StopMatch stops playing a match.
	StopMatch(matchID string)
	// Matches returns the ids of the matches that are being played.
	Matches() []string
}

// Options configure a Members. All fields are required.
type Options struct {
	Log        eventstore.Log
	Member     string          // the id of this process's data folder
	Host       string          // the name of the machine, for display only
	MaxMatches func() int      // how many matches this process takes now; 0 if it cannot start matches
	SeedKeys   func() []string // ids of the unpublished seed keys that this process has
	// Unfinished reads the ladders, and returns the unfinished matches of all modes.
	Unfinished func(ctx context.Context) ([]ladder.Seating, error)
	Retry      time.Duration // time between two attempts to play a match that could not be played
	Logger     *slog.Logger
}

// Members knows the processes that play, and which matches each of them plays. It is
// safe for concurrent use.
//
// No process trusts the clock of another process. An observer considers a member gone if
// one of the observer's own heartbeats has come back through its subscription. This
// heartbeat must have begun at least goneAfter after the member's last one arrived. The
// observer sends it as soon as that time is over. While the log is unavailable, no
// heartbeat comes back, so nobody is considered gone. If the observer's heartbeats were
// interrupted, or if it subscribes again, it waits for goneAfter again.
//
// The others may consider a member gone that was only paused or cut off, and the member
// does not notice. So its gate closes gateTime after the start of its last stored
// heartbeat. It opens the gate again in three steps. First, it stores a heartbeat. Then it
// reads the assignments and stops the matches that it has lost. If it still has matches, it
// stores the assignments again.
//
// Every member moves the matches of members that are gone or have left. So a match does not
// wait for the process that seats, which may be gone, too. New matches are assigned only by
// the process that seats. They wait while neither it nor a process that it has heard can start
// them.
//
// No match moves while the gate of its member is open. The process that moves it reads the
// assignments first, and then the last heartbeat of a member that it considers gone. It
// appends at the revision that it has read. If the heartbeat is older than gateTime, the
// gate is closed. If the gate opens after that, the revision has changed, and the
// append fails. If the member appends to a match anyway, the match's revision protects the
// match: the next member has claimed it.
type Members struct {
	o         Options
	start     string // the id of this start of the process; later starts have greater ids, by the clock of the machine
	since     time.Time
	gate      *gate
	play      chan struct{} // has a value if the matches of this process may have changed
	assign    chan struct{} // has a value if the matches may have to be assigned again
	move      chan struct{} // has a value if a member may have gone
	watching  atomic.Bool   // whether Watch is running, because this process seats
	handovers atomic.Uint64

	assigning *semaphore.Weighted // held while matches are assigned; unlike with a mutex, a caller stops waiting when its context ends

	mu         sync.Mutex // guards the fields below
	referee    Referee    // nil before Run
	left       bool
	others     map[string]*member             // the other members that are not gone, by id
	heard      map[string]eventstore.Recorded // the newest event of each other member, by id, even if the member is gone
	assigned   arena.Assignments
	newest     eventstore.Recorded // the event that contains these assignments; without a type before the first one
	unfinished []arena.Unfinished  // as they were last read, without the new matches that wait
	waiting    []string            // the seed keys of new matches that wait because nobody could start them

	resubscribe func()           // ends the subscription; never nil
	announced   arena.MemberSeen // the newest heartbeat of this process
	pending     uuid.UUID        // the id of that heartbeat
	began       time.Time        // the start of that heartbeat
	unreturned  time.Time        // the start of the first stored heartbeat that has not come back, if that is after back
	back        time.Time        // when a heartbeat last came back, or when the subscription began
	interrupted bool             // whether the last heartbeat could not be stored
	judgesFrom  time.Time        // when the last interruption ended, or when a new subscription had read the members

	own    int         // how many heartbeats of this process have come back
	twin   twin        // another process with the same id
	reject func(error) // ends Run; nil before Run
	denied error       // why this process may no longer take part
}

// member is another process that plays.
type member struct {
	arena.MemberSeen
	since time.Time // when the first heartbeat of this start arrived
	at    time.Time // when its last heartbeat arrived
	live  bool      // whether one of its heartbeats has come through the subscription
}

// twin is another process with the id of this process, for example because the data folder
// was copied with a virtual machine. Both would call the same bots.
type twin struct {
	start string // from its last heartbeat; empty if there is no such process
	own   int    // how many heartbeats of this process had come back before
}

// New returns a Members that does not take part yet.
func New(o Options) *Members {
	return &Members{
		o: o, start: newStart(time.Now()), since: time.Now(), gate: newGate(), play: make(chan struct{}, 1), assign: make(chan struct{}, 1), move: make(chan struct{}, 1),
		assigning: semaphore.NewWeighted(1), others: map[string]*member{}, heard: map[string]eventstore.Recorded{}, resubscribe: func() {},
	}
}

// newStart returns a UUID of version 7, which begins with the time. It does not use
// uuid.NewV7, whose result also depends on earlier calls. A simulated history would not
// repeat.
func newStart(now time.Time) string {
	id := uuid.New()
	for i := range 6 {
		id[i] = byte(now.UnixMilli() >> (40 - 8*i))
	}
	id[6] = 0x70 | id[6]&0x0f
	return id.String()
}

// Gate returns nil while this process may call bots. Otherwise, it returns a channel
// that is closed when the gate opens.
func (m *Members) Gate() <-chan struct{} { return m.gate.closed() }

// Handovers returns how many matches this process has taken over from other members.
func (m *Members) Handovers() uint64 { return m.handovers.Load() }

// Known is a member that is not gone.
type Known struct {
	arena.MemberSeen
	Since time.Time // when this process first saw the current start of the member, by its own clock
}

// List describes the members that are not gone, sorted by id.
func (m *Members) List() (list []Known) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		list = append(list, Known{m.myself(), m.since})
	}
	for _, other := range m.others {
		list = append(list, Known{other.MemberSeen, other.since})
	}
	slices.SortFunc(list, func(a, b Known) int { return cmp.Compare(a.Member, b.Member) })
	return list
}

// These values of MaxMatches order the members that the method alive() returns.
const (
	cannotStart = -1 << 20
	onlyRead    = -1 << 30
)

// alive returns the members that are not gone, in no particular order. One that cannot start
// matches keeps those that it has, but gets others only after members that are full. A member
// whose heartbeats were only read is chosen even later: it may have died before this process
// started. If it got matches, a process that considers it gone would move them away, and this
// process would perhaps move them back (docs/adr/0059-a-member-is-the-last-choice-until-it-is-heard.md).
// The caller must hold m.mu.
func (m *Members) alive() (list []arena.MemberSeen) {
	if !m.left {
		list = append(list, m.myself())
	}
	for _, other := range m.others {
		list = append(list, other.MemberSeen)
		if !other.live {
			list[len(list)-1].MaxMatches = onlyRead
		}
	}
	for i := range list {
		if list[i].MaxMatches == 0 {
			list[i].MaxMatches = cannotStart
		}
	}
	return list
}

// myself returns the next heartbeat of this process. The caller must hold m.mu.
func (m *Members) myself() arena.MemberSeen {
	e := arena.MemberSeen{
		Member: m.o.Member, Start: m.start, Host: m.o.Host, MaxMatches: m.o.MaxMatches(), SeedKeys: append([]string{}, m.o.SeedKeys()...),
	}
	if m.referee != nil {
		e.Running = len(m.referee.Matches())
	}
	return e
}

// Run takes part until ctx ends. It sends heartbeats, follows the other members, and moves
// the matches of members that are gone. It passes the matches of this process to the
// referee. It retries while the log is unavailable. It returns an error if another process
// with the same id started before this one and is alive. The matches then belong to that
// process.
func (m *Members) Run(ctx context.Context, r Referee) error {
	ctx, reject := context.WithCancelCause(ctx)
	defer reject(nil)
	m.mu.Lock()
	m.referee, m.reject = r, reject
	m.mu.Unlock()
	var all sync.WaitGroup
	for part, run := range map[string]func(context.Context){"members": m.follow, "heartbeats": m.beat, "assignments": m.playAssigned, "moves": m.moveMatches} {
		all.Go(func() { pprof.Do(ctx, pprof.Labels("part", part), run) })
	}
	all.Wait()
	return m.mayTakePart()
}

func (m *Members) mayTakePart() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.denied
}

// Forget drops the assignments, and reads them again. Call it if the log may have lost
// events.
func (m *Members) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.assigned, m.newest = arena.Assignments{}, eventstore.Recorded{}
	clear(m.heard)
	m.resubscribe()
}

// Leave tells the other members that this process has stopped its matches. Call it after
// Run has returned nil. After that, the others take over its matches, and so does Assign.
func (m *Members) Leave(ctx context.Context) error {
	m.gate.close()
	m.mu.Lock()
	m.left = true
	m.mu.Unlock()
	encoded, err := m.encode(arena.MemberLeft{Member: m.o.Member, Start: m.start})
	if err != nil {
		return err
	}
	return eventstore.Retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, eventstore.AttemptTime)
		defer cancel()
		_, err := m.o.Log.Append(ctx, m.stream(), eventstore.Any, encoded)
		return err
	})
}

func (m *Members) stream() eventstore.StreamID {
	return eventstore.StreamID(arena.MemberStream(m.o.Member))
}

func (m *Members) encode(e arena.Event) (eventstore.Event, error) {
	return eventstore.Encode(e, eventstore.Metadata{At: time.Now(), Correlation: m.o.Member})
}

// signal adds a value to a channel unless it already has one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package membership

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// readTime limits how long playMine reads the ladders.
const readTime = 15 * time.Second

// assignTries limits how often Assign decides again because another process has stored
// assignments.
const assignTries = 10

// playGap is how long playAssigned waits for more changes, which often come together, so
// that it reads the ladders once for all of them. Without this, the number of reads would
// depend on which goroutine runs first (docs/adr/0057-one-seed-is-one-history.md).
const playGap = time.Millisecond

// playAssigned passes the matches of this process to the referee until ctx ends. While
// the gate is closed, the matches may belong to another member, so it waits.
func (m *Members) playAssigned(ctx context.Context) {
	ticker := time.NewTicker(m.o.Retry)
	defer ticker.Stop()
	var opened <-chan struct{} // nil while the gate is open
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.play:
		case <-opened:
		case <-ticker.C:
		}
		if eventstore.Sleep(ctx, playGap) != nil {
			return
		}
		select {
		case <-m.play:
		default:
		}
		if err := m.readUnheard(ctx); err != nil && ctx.Err() == nil {
			m.o.Logger.Warn("could not read the heartbeats of new members; retrying", "error", err)
			signalAfter(ctx, m.play)
		}
		if opened = m.gate.closed(); opened != nil {
			continue
		}
		if err := m.playMine(ctx); err != nil && ctx.Err() == nil {
			m.o.Logger.Warn("could not read the unfinished matches; retrying", "error", err)
			signalAfter(ctx, m.play)
		}
	}
}

// signalAfter waits for retryAfter, and then adds a value to a channel.
func signalAfter(ctx context.Context, c chan struct{}) {
	if eventstore.Sleep(ctx, retryAfter) == nil {
		signal(c)
	}
}

// playMine reads the ladders. After that, it passes the matches that are assigned to this
// process to the referee. If a match is assigned during the read, the ladders may not include
// it yet, but playAssigned then calls playMine again.
func (m *Members) playMine(ctx context.Context) error {
	m.mu.Lock()
	mine := m.assigned.Matches(m.o.Member)
	m.mu.Unlock()
	if len(mine) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	unfinished, err := m.o.Unfinished(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock() // so that no match that begins now has just been assigned to another member
	defer m.mu.Unlock()
	for _, s := range unfinished {
		if m.assigned.MemberOf(s.MatchID) == m.o.Member {
			m.referee.Play(s)
		}
	}
	return nil
}

// Watch calls assign immediately, and each time that another member comes, goes or changes its
// seed keys, or that assignments arrive, until ctx ends. If assign fails, Watch calls it again
// after a second. If matches waited, Watch calls it within about two seconds after a member that
// it has heard can start some of them.
func (m *Members) Watch(ctx context.Context, assign func(context.Context) error) {
	m.watching.Store(true)
	defer m.watching.Store(false)
	for {
		if err := assign(ctx); err != nil && ctx.Err() == nil {
			m.o.Logger.Warn("could not assign the matches; retrying", "error", err)
			signalAfter(ctx, m.assign)
		}
		select {
		case <-ctx.Done():
			return
		case <-m.assign:
		}
	}
}

// moveGap is how long moveMatches waits for Watch, which wakes up at the same time. Without
// a fixed order, two runs of a simulated history could differ (docs/adr/0057-one-seed-is-one-history.md).
const moveGap = 10 * time.Millisecond

// moveMatches moves the matches of members that are gone or have left, until ctx ends. All
// members do this at the same time. The first one stores the assignments, and the others
// then find that nothing has to change. The new assignments keep the generation of the
// previous ones. So they do not replace the assignments of a process that has just begun to
// seat.
func (m *Members) moveMatches(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.move:
		}
		if m.watching.Load() && eventstore.Sleep(ctx, moveGap) != nil {
			return
		}
		if !m.someoneIsGone() {
			continue
		}
		if err := m.divide(ctx, func(before arena.Assignments) uint64 { return before.Generation }, allNew); err != nil && ctx.Err() == nil {
			m.o.Logger.Warn("could not move the matches of a member that is gone; retrying", "error", err)
			signalAfter(ctx, m.move)
		}
	}
}

// allNew holds back all matches that are not assigned yet.
func allNew(ladder.Seating) bool { return true }

// someoneIsGone reports whether matches are assigned to a member that is gone.
func (m *Members) someoneIsGone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.assigned.Members(), func(id string) bool { return id != m.o.Member && m.others[id] == nil })
}

// Assign divides the unfinished matches among the members. It stores new assignments
// only if a match gets another member. generation is the lease under which this process
// seats. A match that is not assigned yet waits for a later call if holdsBack returns true for
// it, or if no member can start it.
func (m *Members) Assign(ctx context.Context, generation uint64, holdsBack func(ladder.Seating) bool) error {
	return m.divide(ctx, func(arena.Assignments) uint64 { return generation }, holdsBack)
}

// divide assigns the matches under a lease, which may depend on the assignments before.
func (m *Members) divide(ctx context.Context, lease func(before arena.Assignments) uint64, holdsBack func(ladder.Seating) bool) error {
	if err := m.assigning.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for another assignment: %w", err)
	}
	defer m.assigning.Release(1)
	for try := 1; ; try++ {
		if err := m.mayTakePart(); err != nil {
			return err
		}
		err := m.tryToDivide(ctx, lease, holdsBack)
		if !eventstore.IsWrongVersion(err) || try == assignTries {
			return err
		}
	}
}

func (m *Members) tryToDivide(ctx context.Context, lease func(before arena.Assignments) uint64, holdsBack func(ladder.Seating) bool) error {
	before, expected, err := m.currentAssignments(ctx)
	if err != nil {
		return err
	}
	seatings, err := m.o.Unfinished(ctx)
	if err != nil {
		return err
	}
	if err := m.confirmGone(ctx, before, seatings); err != nil {
		return err
	}
	m.mu.Lock()
	alive := m.alive()
	m.mu.Unlock()
	var unfinished []arena.Unfinished
	var waiting []string
	for _, s := range seatings {
		isNew := before.MemberOf(s.MatchID) == ""
		switch {
		case isNew && holdsBack(s):
		case isNew && mustWait(alive, s.SeedKey):
			waiting = append(waiting, s.SeedKey)
		default:
			unfinished = append(unfinished, arena.Unfinished{ID: s.MatchID, SeedKey: s.SeedKey})
		}
	}
	m.mu.Lock()
	m.unfinished = unfinished
	if len(waiting) > 0 { // a move holds back all new matches, so it does not know whether some still wait
		if len(m.waiting) == 0 {
			m.o.Logger.Warn("new matches wait: no process that was heard and has their seed key can start them")
		}
		m.waiting = waiting
	}
	m.mu.Unlock()
	events, err := before.Assign(lease(before), alive, unfinished)
	if err != nil {
		return err
	}
	m.reportKeyless(alive, unfinished)
	if len(events) == 0 {
		return nil
	}
	return m.storeAssignments(ctx, expected, events[0])
}

// mustWait reports whether a new match must wait: members have its seed key, but none of
// them can start matches, as far as this process has heard. If another member can, its next
// heartbeat comes within 5 s.
func mustWait(alive []arena.MemberSeen, seedKey string) bool {
	exists := false
	for _, s := range alive {
		if slices.Contains(s.SeedKeys, seedKey) {
			if s.MaxMatches > 0 {
				return false
			}
			exists = true
		}
	}
	return exists
}

// assignWaiting wakes Watch if a match that waited no longer has to wait.
func (m *Members) assignWaiting() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		return
	}
	alive := m.alive()
	if slices.ContainsFunc(m.waiting, func(seedKey string) bool { return !mustWait(alive, seedKey) }) {
		m.waiting = nil
		signal(m.assign)
	}
}

// confirmGone reads the last event of each member that has unfinished matches, but that
// this process considers gone or without their seed keys. The event may be a heartbeat that
// has not reached this process yet. For example, this process may have just started.
func (m *Members) confirmGone(ctx context.Context, a arena.Assignments, unfinished []ladder.Seating) error {
	unfit := map[string]bool{}
	m.mu.Lock()
	for _, s := range unfinished {
		id := a.MemberOf(s.MatchID)
		if other := m.others[id]; id != "" && (other == nil || !slices.Contains(other.SeedKeys, s.SeedKey)) {
			unfit[id] = true
		}
	}
	m.mu.Unlock()
	for id := range unfit {
		if err := m.readMember(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// reportKeyless logs the matches that no member can play.
func (m *Members) reportKeyless(alive []arena.MemberSeen, unfinished []arena.Unfinished) {
	if len(alive) == 0 {
		return
	}
	for _, u := range unfinished {
		if !slices.ContainsFunc(alive, func(s arena.MemberSeen) bool { return slices.Contains(s.SeedKeys, u.SeedKey) }) {
			m.o.Logger.Warn("a match waits: no process that plays has its seed key", "match", u.ID, "seedKey", u.SeedKey)
		}
	}
}

// currentAssignments reads the assignments, and returns the revision at which to append.
func (m *Members) currentAssignments(ctx context.Context) (arena.Assignments, eventstore.Expected, error) {
	r, found, err := m.last(ctx, arena.AssignmentsStream)
	if err != nil || !found {
		return arena.Assignments{}, eventstore.NoStream, err
	}
	a, err := kindOfAssignments.Fold(arena.Assignments{}, r)
	return a, eventstore.At(r.Revision), err
}

func (m *Members) storeAssignments(ctx context.Context, expected eventstore.Expected, e arena.Event) error {
	if expected == eventstore.NoStream {
		if err := m.keepOnlyLast(ctx, arena.AssignmentsStream); err != nil {
			return err
		}
	}
	encoded, err := m.encode(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, eventstore.AttemptTime)
	defer cancel()
	appended, err := m.o.Log.Append(ctx, arena.AssignmentsStream, expected, encoded)
	if err != nil {
		return fmt.Errorf("append to %s: %w", arena.AssignmentsStream, err)
	}
	return m.apply(eventstore.Recorded{Event: encoded, Stream: arena.AssignmentsStream, Revision: appended.Revision}, false)
}

// keepMatches stores the newest assignments again if this process has matches.
func (m *Members) keepMatches(ctx context.Context) error {
	m.mu.Lock()
	assigned, newest := m.assigned, m.newest
	m.mu.Unlock()
	if len(assigned.Matches(m.o.Member)) == 0 {
		return nil
	}
	e, err := arena.DecodeAssignments(newest.Type, newest.Data)
	if err != nil {
		return err
	}
	return m.storeAssignments(ctx, eventstore.At(newest.Revision), e)
}

// Free returns how many more matches with a certain seed key the members can take. It
// counts the matches that the last call of Assign has read.
func (m *Members) Free(seedKey string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.assigned.Free(m.alive(), m.unfinished, seedKey)
}

package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

var (
	kindOfMember      = eventstore.Kind[arena.Member, arena.Event]{Decode: arena.DecodeMember, Evolve: arena.EvolveMember}
	kindOfAssignments = eventstore.Kind[arena.Assignments, arena.Event]{Decode: arena.DecodeAssignments, Evolve: arena.EvolveAssignments}
)

// follow follows the heartbeats and the assignments until ctx ends.
func (m *Members) follow(ctx context.Context) {
	for {
		err := m.subscribe(ctx)
		if ctx.Err() != nil {
			return
		}
		m.o.Logger.Info("subscribing to the members again", "error", err)
		if errors.Is(err, context.Canceled) {
			continue // resubscribe was called, so the log does not need a pause
		}
		if eventstore.Sleep(ctx, retryAfter) != nil {
			return
		}
	}
}

// subscribe follows the log until the subscription ends. It first reads the state at the
// end of the log, because the subscription begins there.
func (m *Members) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	head, err := m.head(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.back, m.resubscribe = time.Now(), cancel
	m.mu.Unlock()
	if err := m.readAssignments(ctx); err != nil {
		return err
	}
	if err := m.readMembers(ctx); err != nil {
		return err
	}
	filter := eventstore.Filter{StreamPrefixes: []string{arena.MemberPrefix, arena.AssignmentsStream}}
	for message, err := range m.o.Log.Subscribe(ctx, head, filter) {
		if err != nil {
			return fmt.Errorf("subscribe after %d: %w", head, err)
		}
		if message.Event == nil {
			continue
		}
		if err := m.apply(*message.Event, true); err != nil {
			m.o.Logger.Error("skipping an event of another member; upgrade this process", "error", err)
		}
	}
	return ctx.Err()
}

func (m *Members) head(ctx context.Context) (eventstore.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, eventstore.AttemptTime)
	defer cancel()
	return eventstore.Head(ctx, m.o.Log)
}

// readAssignments reads the newest assignments.
func (m *Members) readAssignments(ctx context.Context) error {
	r, found, err := m.last(ctx, arena.AssignmentsStream)
	if err != nil || !found {
		return err
	}
	return m.apply(r, false)
}

// readMembers reads the last heartbeats of the members that have matches. A member that
// has not left is considered alive until the observer has counted enough heartbeats.
func (m *Members) readMembers(ctx context.Context) error {
	m.mu.Lock()
	named := m.assigned.Members()
	m.mu.Unlock()
	for _, id := range named {
		if err := m.readMember(ctx, id); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.judgesFrom = time.Now()
	m.membersChanged()
	return nil
}

// readUnheard reads the last heartbeats of members that got matches before this process
// has heard of them. Otherwise, if such a member dies before its next heartbeat, this
// process would begin to judge it only when it assigns its matches.
func (m *Members) readUnheard(ctx context.Context) error {
	m.mu.Lock()
	unheard := slices.DeleteFunc(m.assigned.Members(), func(id string) bool { return m.heard[id].Type != "" })
	m.mu.Unlock()
	for _, id := range unheard {
		if err := m.readMember(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// readMember reads the last event of another member.
func (m *Members) readMember(ctx context.Context, id string) error {
	if id == m.o.Member {
		return nil
	}
	r, found, err := m.last(ctx, eventstore.StreamID(arena.MemberStream(id)))
	if err != nil || !found {
		return err
	}
	return m.apply(r, false)
}

// apply folds an event of a member or an assignment. live says whether it has come through
// the subscription. An event that is not new changes nothing. So a member that is gone stays
// gone until it sends another heartbeat.
func (m *Members) apply(r eventstore.Recorded, live bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Stream == arena.AssignmentsStream {
		return m.applyAssignments(r)
	}
	if !strings.HasPrefix(string(r.Stream), arena.MemberPrefix) {
		return nil
	}
	seen, err := kindOfMember.Fold(arena.Member{}, r)
	switch {
	case err != nil:
		return err
	case seen.Member == m.o.Member && seen.Start == m.start:
		m.cameBack(r)
	case seen.Member == m.o.Member:
		if !seen.Left {
			m.noticeTwin(seen.MemberSeen)
		}
	case known(m.heard[seen.Member], r):
	case seen.Left:
		m.heard[seen.Member] = r
		m.applyLeft(seen)
	default:
		m.heard[seen.Member] = r
		m.applySeen(seen, live)
	}
	return nil
}

// known reports whether an event is not newer than the newest event of its stream, which
// is the zero value before the first one.
func known(newest, r eventstore.Recorded) bool {
	return newest.Type != "" && (r.Revision < newest.Revision || r.ID == newest.ID)
}

func (m *Members) applySeen(seen arena.Member, live bool) {
	before := m.others[seen.Member]
	now := time.Now()
	since := now
	if before != nil && before.Start == seen.Start {
		since = before.since
	}
	m.others[seen.Member] = &member{MemberSeen: seen.MemberSeen, since: since, at: now, live: live || before != nil && before.live}
	if before == nil {
		m.o.Logger.Info("a member is here", "member", seen.Member, "host", seen.Host, "maxMatches", seen.MaxMatches)
	}
	if before == nil || !slices.Equal(before.SeedKeys, seen.SeedKeys) {
		m.membersChanged() // perhaps it can play matches that nobody could play before
	}
}

func (m *Members) applyLeft(seen arena.Member) {
	if m.others[seen.Member] == nil {
		return
	}
	m.o.Logger.Info("a member has left", "member", seen.Member)
	delete(m.others, seen.Member)
	m.membersChanged()
}

// applyAssignments takes over newer assignments. It stops the matches that another
// member plays from now on. The caller must hold m.mu.
func (m *Members) applyAssignments(r eventstore.Recorded) error {
	if known(m.newest, r) {
		return nil
	}
	next, err := kindOfAssignments.Fold(arena.Assignments{}, r)
	if err != nil {
		return err
	}
	before := m.assigned
	m.assigned, m.newest = next, r
	for _, id := range next.Matches(m.o.Member) {
		if from := before.MemberOf(id); from != "" && from != m.o.Member {
			m.handovers.Add(1)
		}
	}
	if m.referee != nil {
		for _, id := range m.referee.Matches() {
			if to := next.MemberOf(id); to != "" && to != m.o.Member {
				m.referee.StopMatch(id)
			}
		}
	}
	signal(m.play)
	m.membersChanged()
	return nil
}

package membership

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// beat sends heartbeats until ctx ends.
func (m *Members) beat(ctx context.Context) {
	var failing bool
	configured := false
	for ctx.Err() == nil {
		start := time.Now()
		m.replaceSilentSubscription()
		err := m.configureOnce(ctx, &configured)
		if err == nil {
			err = m.sendHeartbeat(ctx, start)
		}
		if failing != (err != nil) && ctx.Err() == nil {
			failing = err != nil
			if failing {
				m.o.Logger.Warn("could not store a heartbeat; retrying", "error", err)
			} else {
				m.o.Logger.Info("heartbeats are stored again")
			}
		}
		if err != nil {
			m.interrupt()
			err = eventstore.Sleep(ctx, retryAfter)
		} else {
			err = m.awaitBeat(ctx, start)
		}
		if err != nil {
			return
		}
	}
}

// awaitBeat waits until the next heartbeat is due. start is the start of the last one.
// Every second until then, it checks whether waiting matches can be assigned.
func (m *Members) awaitBeat(ctx context.Context, start time.Time) error {
	for {
		m.assignWaiting()
		wait := m.untilBeat(start)
		if wait <= 0 {
			return nil
		}
		if err := eventstore.Sleep(ctx, min(wait, lookEvery)); err != nil {
			return err
		}
	}
}

// untilBeat returns the time until the next heartbeat. It is due at once if this process
// takes more or fewer matches than it has announced, or has other seed keys. It is also
// due as soon as it can show that another member is gone.
func (m *Members) untilBeat(start time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.o.MaxMatches() != m.announced.MaxMatches || !slices.Equal(m.o.SeedKeys(), m.announced.SeedKeys) {
		return 0
	}
	next := start.Add(beatEvery)
	for _, other := range m.others {
		if due := m.goneAt(other); due.After(start) && due.Before(next) {
			next = due
		}
	}
	return time.Until(next)
}

// interrupt records that a heartbeat could not be stored.
func (m *Members) interrupt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.interrupted = true
}

// configureOnce makes a new stream of heartbeats keep only its last event.
func (m *Members) configureOnce(ctx context.Context, configured *bool) error {
	if *configured {
		return nil
	}
	_, exists, err := m.last(ctx, m.stream())
	if err != nil {
		return err
	}
	if !exists {
		if err := m.keepOnlyLast(ctx, m.stream()); err != nil {
			return err
		}
	}
	*configured = true
	return nil
}

func (m *Members) keepOnlyLast(ctx context.Context, id eventstore.StreamID) error {
	ctx, cancel := context.WithTimeout(ctx, eventstore.AttemptTime)
	defer cancel()
	if err := m.o.Log.SetMetadata(ctx, id, eventstore.StreamMetadata{MaxCount: 1}); err != nil {
		return fmt.Errorf("keep only the last event of %s: %w", id, err)
	}
	return nil
}

// The method last() reads the last event of a stream.
func (m *Members) last(ctx context.Context, id eventstore.StreamID) (r eventstore.Recorded, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, eventstore.AttemptTime)
	defer cancel()
	for r, err := range m.o.Log.Read(ctx, id, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return r, false, fmt.Errorf("read %s: %w", id, err)
		}
		return r, true, nil
	}
	return r, false, ctx.Err()
}

// sendHeartbeat stores a heartbeat, and keeps the gate open or opens it. Each attempt is
// a new event: if the log has stored an earlier attempt without an answer, that attempt
// is too old for the gate.
func (m *Members) sendHeartbeat(ctx context.Context, start time.Time) error {
	m.mu.Lock()
	e := m.myself()
	m.mu.Unlock()
	encoded, err := m.encode(e)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.pending, m.began, m.announced = encoded.ID, start, e
	m.mu.Unlock()
	attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery) // so that no heartbeat is stored after Leave
	defer cancel()
	if _, err := m.o.Log.Append(attempt, m.stream(), eventstore.Any, encoded); err != nil {
		return fmt.Errorf("append to %s: %w", m.stream(), err)
	}
	m.mu.Lock()
	if !m.unreturned.After(m.back) {
		m.unreturned = start
	}
	if m.interrupted {
		m.judgeFromNow()
	}
	m.mu.Unlock()
	if m.gate.extend(start) {
		return nil
	}
	return m.openGate(ctx, start)
}

// openGate opens the gate after this process has stopped the matches that now belong to
// other members. If it keeps matches, it first stores the assignments again, as they are.
// A process that considered this one gone may be about to give its matches to others. Its
// append then fails, and it reads the heartbeat that this process has just stored.
func (m *Members) openGate(ctx context.Context, beat time.Time) error {
	for {
		if err := m.readAssignments(ctx); err != nil {
			return err
		}
		if err := m.keepMatches(ctx); !eventstore.IsWrongVersion(err) {
			if err != nil {
				return err
			}
			break
		}
	}
	m.gate.open(beat)
	signal(m.play)
	return nil
}

// replaceSilentSubscription ends the subscription if a stored heartbeat has not come back
// through it for beatEvery. The method follow() then subscribes again.
func (m *Members) replaceSilentSubscription() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unreturned.After(m.back) && time.Since(m.unreturned) >= beatEvery {
		m.o.Logger.Warn("the subscription to the members is silent; subscribing again")
		m.resubscribe()
	}
}

// cameBack records that a heartbeat of this process has come back through the
// subscription. A member is gone if this heartbeat did not begin before goneAt. The caller
// must hold m.mu.
func (m *Members) cameBack(r eventstore.Recorded) {
	if r.ID != m.pending {
		return
	}
	m.own++
	if m.interrupted || time.Since(m.back) > lateBeat { // this process or the log was paused, so perhaps the others could not send heartbeats
		m.judgeFromNow()
	}
	m.back = time.Now()
	for _, other := range m.others {
		if !m.began.Before(m.goneAt(other)) {
			delete(m.others, other.Member)
			m.o.Logger.Warn("a member is gone", "member", other.Member, "host", other.Host)
			m.membersChanged()
		}
	}
}

// judgeFromNow ends an interruption. It gives all other members goneAfter for their next
// heartbeat. The caller must hold m.mu.
func (m *Members) judgeFromNow() { m.judgesFrom, m.interrupted = time.Now(), false }

// goneAt returns when a member is gone unless a heartbeat arrives before. The caller must
// hold m.mu.
func (m *Members) goneAt(other *member) time.Time {
	if other.at.After(m.judgesFrom) {
		return other.at.Add(goneAfter)
	}
	return m.judgesFrom.Add(goneAfter)
}

// membersChanged wakes the methods that assign matches.
func (m *Members) membersChanged() {
	signal(m.assign)
	signal(m.move)
}

// noticeTwin records a heartbeat of another start of a process with the same id. The
// previous start may have sent it just before it ended. But if heartbeats of both keep
// arriving, both processes are alive, and the one that started later stops. The caller must
// hold m.mu.
func (m *Members) noticeTwin(e arena.MemberSeen) {
	before := m.twin
	m.twin = twin{e.Start, m.own}
	if before.start != e.Start || before.own == 0 || before.own == m.own {
		return
	}
	if m.start < e.Start {
		m.o.Logger.Error("another process uses a copy of this data folder; stop it", "member", m.o.Member, "host", m.o.Host, "otherHost", e.Host)
		return
	}
	m.denied = fmt.Errorf("a process on host %q plays from a copy of the data folder of this process on host %q (both are member %s); start this one with another --data, or stop the other one and remove the copy", e.Host, m.o.Host, m.o.Member)
	m.gate.close()
	m.reject(m.denied)
}

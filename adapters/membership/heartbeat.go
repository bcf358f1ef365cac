package membership

import (
	"context"
	"fmt"
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
		next := start.Add(beatEvery)
		if err != nil {
			next = time.Now().Add(retryAfter)
		}
		if failing != (err != nil) && ctx.Err() == nil {
			failing = err != nil
			if failing {
				m.o.Logger.Warn("could not store a heartbeat; retrying", "error", err)
			} else {
				m.o.Logger.Info("heartbeats are stored again")
			}
		}
		if eventstore.Sleep(ctx, time.Until(next)) != nil {
			return
		}
	}
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
	m.pending, m.began = encoded.ID, start
	m.mu.Unlock()
	attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery) // so that no heartbeat is stored after Leave
	defer cancel()
	if _, err := m.o.Log.Append(attempt, m.stream(), eventstore.Any, encoded); err != nil {
		return fmt.Errorf("append to %s: %w", m.stream(), err)
	}
	m.mu.Lock()
	m.stored = start
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

// replaceSilentSubscription ends the subscription if the last stored heartbeat has not
// come back through it. The method follow() then subscribes again.
func (m *Members) replaceSilentSubscription() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stored.After(m.subscribed) && m.back.Before(m.stored) {
		m.o.Logger.Warn("the subscription to the members is silent; subscribing again")
		m.resubscribe()
	}
}

// cameBack records that a heartbeat of this process has come back through the
// subscription. It counts the heartbeat for all other members. The caller must hold m.mu.
func (m *Members) cameBack(r eventstore.Recorded) {
	if r.ID != m.pending {
		return
	}
	m.own++
	now := time.Now()
	since := now.Sub(m.back)
	m.back = now
	for _, other := range m.others {
		switch {
		case since > lateBeat: // this process or the log was paused, so perhaps the others could not send heartbeats
			other.at, other.missed = now, 0
		case since >= beatEvery/2: // otherwise, it is a retry
			other.missed++
		}
		if other.missed >= missedMost && m.began.Sub(other.at) >= gateTime {
			delete(m.others, other.Member)
			m.o.Logger.Warn("a member is gone", "member", other.Member, "host", other.Host)
			signal(m.assign)
		}
	}
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

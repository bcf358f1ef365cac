package eventstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// The streams in these tests are accounts. An account refuses to pay out more than
// its balance.
type event interface{ EventType() string }

type paidIn struct {
	Amount int `json:"amount"`
}

type paidOut struct {
	Amount int `json:"amount"`
}

func (paidIn) EventType() string  { return "PaidIn" }
func (paidOut) EventType() string { return "PaidOut" }

type account struct {
	balance int
	moved   int
	last    time.Time
}

var accounts = eventstore.Kind[account, event]{Decode: decode, Evolve: evolve}

func decode(eventType string, data []byte) (event, error) {
	switch eventType {
	case "PaidIn":
		var e paidIn
		return e, json.Unmarshal(data, &e)
	case "PaidOut":
		var e paidOut
		return e, json.Unmarshal(data, &e)
	}
	return nil, fmt.Errorf("unknown event type %q", eventType)
}

func evolve(a account, e event, at time.Time) account {
	switch e := e.(type) {
	case paidIn:
		a.balance += e.Amount
	case paidOut:
		a.balance -= e.Amount
	}
	a.moved++
	a.last = at
	return a
}

var errTooPoor = errors.New("too poor")

func payOut(amount int) func(account) ([]event, error) {
	return func(a account) ([]event, error) {
		if a.balance < amount {
			return nil, errTooPoor
		}
		return []event{paidOut{amount}}, nil
	}
}

const stream eventstore.StreamID = "account-1"

var noon = time.Date(2030, 1, 2, 12, 0, 0, 123456789, time.FixedZone("", 3600))

func meta() eventstore.Metadata { return eventstore.Metadata{At: noon, Correlation: "test"} }

func given(t *testing.T, log eventstore.Log, events ...event) {
	t.Helper()
	if len(events) == 0 {
		return
	}
	encoded, err := eventstore.EncodeAll(events, meta())
	require.NoError(t, err)
	_, err = log.Append(t.Context(), stream, eventstore.Any, encoded...)
	require.NoError(t, err)
}

func types(t *testing.T, log eventstore.Log) []string {
	t.Helper()
	var all []string
	for r, err := range log.Read(t.Context(), stream, 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		all = append(all, r.Type+string(r.Data))
	}
	return all
}

func TestHandle(t *testing.T) {
	failure := errors.New("decide failed")
	for _, c := range []struct {
		name   string
		given  []event
		when   func(account) ([]event, error)
		then   []string // the events that follow the given ones
		state  account
		err    error
		silent bool // nothing is appended
	}{
		{
			name: "the first event of a stream", when: func(account) ([]event, error) { return []event{paidIn{5}}, nil },
			then: []string{`PaidIn{"amount":5}`}, state: account{balance: 5, moved: 1},
		},
		{
			name: "decides on the stored events", given: []event{paidIn{5}, paidOut{1}}, when: payOut(4),
			then: []string{`PaidOut{"amount":4}`}, state: account{balance: 0, moved: 3},
		},
		{
			name: "several events", given: []event{paidIn{5}},
			when:  func(account) ([]event, error) { return []event{paidOut{1}, paidOut{2}}, nil },
			then:  []string{`PaidOut{"amount":1}`, `PaidOut{"amount":2}`},
			state: account{balance: 2, moved: 3},
		},
		{
			name: "no events", given: []event{paidIn{5}},
			when:  func(account) ([]event, error) { return nil, nil },
			state: account{balance: 5, moved: 1}, silent: true,
		},
		{
			name: "an error", given: []event{paidIn{5}}, when: payOut(6),
			state: account{balance: 5, moved: 1}, err: errTooPoor, silent: true,
		},
		{
			name: "an error with events", given: []event{paidIn{5}},
			when:  func(account) ([]event, error) { return []event{paidOut{5}}, failure },
			state: account{balance: 5, moved: 1}, err: failure, silent: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := logtest.NewFaulty(memory.New())
			given(t, log, c.given...)
			before := log.Appends()
			state, position, err := accounts.Handle(t.Context(), log, stream, account{}, meta(), c.when)
			require.Equal(t, c.err, err, "Handle returns decide's error unchanged")
			if c.state.moved > 0 {
				c.state.last = noon.UTC().Truncate(time.Millisecond)
			}
			require.Equal(t, c.state, state)
			require.Equal(t, append([]string{}, c.then...), types(t, log)[len(c.given):], "stored")
			require.Equal(t, c.silent, position == 0)
			require.Equal(t, c.silent, log.Appends() == before)
			loaded, _, err := accounts.Load(t.Context(), log, stream, account{})
			require.NoError(t, err)
			require.Equal(t, state, loaded, "Handle returns the state of the stream")
		})
	}
}

func TestHandleReturnsThePositionOfTheLastEvent(t *testing.T) {
	log := memory.New()
	_, position, err := accounts.Handle(t.Context(), log, stream, account{}, meta(), func(account) ([]event, error) {
		return []event{paidIn{1}, paidIn{2}}, nil
	})
	require.NoError(t, err)
	var last eventstore.Position
	for r, err := range log.Read(t.Context(), stream, 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		last = r.Position
	}
	require.Equal(t, last, position)
}

func TestHandleDecidesAgainAfterAConflict(t *testing.T) {
	log := logtest.NewFaulty(memory.New())
	given(t, log, paidIn{5})
	log.BeforeAppend(2, func() { given(t, log.Log, paidIn{1}) })
	var seen []int
	state, _, err := accounts.Handle(t.Context(), log, stream, account{}, meta(), func(a account) ([]event, error) {
		seen = append(seen, a.balance)
		return []event{paidOut{a.balance}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []int{5, 6}, seen)
	require.Equal(t, 0, state.balance)
	require.Equal(t, []string{`PaidIn{"amount":5}`, `PaidIn{"amount":1}`, `PaidOut{"amount":6}`}, types(t, log))
}

func TestHandleMayRefuseAfterAConflict(t *testing.T) {
	log := logtest.NewFaulty(memory.New())
	given(t, log, paidIn{5})
	log.BeforeAppend(2, func() { given(t, log.Log, paidOut{1}) })
	_, _, err := accounts.Handle(t.Context(), log, stream, account{}, meta(), payOut(5))
	require.Equal(t, errTooPoor, err)
	require.Equal(t, []string{`PaidIn{"amount":5}`, `PaidOut{"amount":1}`}, types(t, log))
}

func TestHandleGivesUpOnEndlessConflicts(t *testing.T) {
	log := logtest.NewFaulty(memory.New())
	for nth := 1; nth <= 100; nth++ {
		log.BeforeAppend(nth, func() { given(t, log.Log, paidIn{1}) })
	}
	_, _, err := accounts.Handle(t.Context(), log, stream, account{}, meta(), payOut(0))
	require.True(t, eventstore.IsWrongVersion(err), "%v", err)
	require.ErrorContains(t, err, string(stream))
	require.Less(t, log.Appends(), 100)
}

// An append can fail in two ways: it is not stored, or it is stored but the
// response is lost. The caller cannot tell which of these happened. In both
// cases, the caller may handle the command again, because Handle decides from
// the stored events.
func TestHandleAgainAfterAFailedAppend(t *testing.T) {
	for how, want := range map[logtest.Fault]int{logtest.NotStored: 5, logtest.StoredAnyway: 0} {
		log := logtest.NewFaulty(memory.New())
		given(t, log, paidIn{5})
		log.FailAppend(2, how)
		_, _, err := accounts.Handle(t.Context(), log, stream, account{}, meta(), payOut(5))
		require.ErrorIs(t, err, eventstore.ErrUnavailable)
		require.ErrorIs(t, err, logtest.ErrInjected)
		state, _, err := accounts.Load(t.Context(), log, stream, account{})
		require.NoError(t, err)
		require.Equal(t, want, state.balance)
		_, _, err = accounts.Handle(t.Context(), log, stream, account{}, meta(), payOut(5))
		if how == logtest.StoredAnyway {
			require.Equal(t, errTooPoor, err)
		} else {
			require.NoError(t, err)
		}
	}
}

func TestHandleNeverDecidesOnAShortHistory(t *testing.T) {
	for events := range 4 {
		log := logtest.NewFaulty(memory.New())
		given(t, log, paidIn{1}, paidIn{2}, paidIn{3})
		log.FailRead(1, events)
		_, _, err := accounts.Handle(t.Context(), log, stream, account{}, meta(), func(account) ([]event, error) {
			require.Fail(t, "decide was called although the read failed")
			return nil, nil
		})
		require.ErrorIs(t, err, logtest.ErrInjected)
		require.ErrorContains(t, err, string(stream))
	}
}

// A stream whose events have all expired reads as empty, but still has a
// revision.
func TestHandleOnAStreamWhoseEventsHaveExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		require.NoError(t, log.SetMetadata(t.Context(), stream, eventstore.StreamMetadata{MaxAge: time.Minute}))
		given(t, log, paidIn{1}, paidIn{2})
		<-time.After(2 * time.Minute)
		state, _, err := accounts.Handle(t.Context(), log, stream, account{}, meta(), func(a account) ([]event, error) {
			require.Zero(t, a)
			return []event{paidIn{7}}, nil
		})
		require.NoError(t, err)
		require.Equal(t, 7, state.balance)
		require.Equal(t, []string{`PaidIn{"amount":7}`}, types(t, log))
	})
}

func TestLoadErrorNamesTheEvent(t *testing.T) {
	for name, bad := range map[string]eventstore.Event{
		"unknown type":    {Type: "Stolen", Data: []byte(`{}`), Metadata: []byte(`{"schema":1}`)},
		"broken data":     {Type: "PaidIn", Data: []byte(`{`), Metadata: []byte(`{"schema":1}`)},
		"broken metadata": {Type: "PaidIn", Data: []byte(`{}`), Metadata: []byte(`{`)},
		"no schema":       {Type: "PaidIn", Data: []byte(`{}`), Metadata: []byte(`{}`)},
		"later schema":    {Type: "PaidIn", Data: []byte(`{}`), Metadata: []byte(`{"schema":2}`)},
	} {
		t.Run(name, func(t *testing.T) {
			log := memory.New()
			given(t, log, paidIn{1})
			encoded, err := eventstore.Encode(paidIn{}, meta())
			require.NoError(t, err)
			bad.ID = encoded.ID
			_, err = log.Append(t.Context(), stream, eventstore.At(0), bad)
			require.NoError(t, err)
			_, _, err = accounts.Load(context.Background(), log, stream, account{})
			require.ErrorContains(t, err, "account-1@1")
		})
	}
}

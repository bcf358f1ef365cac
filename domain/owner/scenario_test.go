package owner

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC)

// The type happened holds an event, and how long after noon the event occurred.
type happened struct {
	after time.Duration
	event Event
}

func at(after time.Duration, events ...Event) []happened {
	var list []happened
	for _, e := range events {
		list = append(list, happened{after, e})
	}
	return list
}

func given(events ...Event) []happened { return at(0, events...) }

func fold[S any](evolve func(S, Event, time.Time) S, history []happened) S {
	var s S
	for _, h := range history {
		s = evolve(s, h.event, noon.Add(h.after))
	}
	return s
}

func account(history ...[]happened) Account {
	var all []happened
	for _, h := range history {
		all = append(all, h...)
	}
	return fold(Evolve, all)
}

// The function then() checks the result of a decision: its events or its error.
func then(t *testing.T, want []Event, refusal error, events []Event, err error) {
	t.Helper()
	if refusal != nil {
		require.ErrorIs(t, err, refusal)
		require.Empty(t, events)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, events)
}

func publicKey(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

func pointer[T any](v T) *T { return &v }

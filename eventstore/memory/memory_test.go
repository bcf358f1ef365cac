package memory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

func events(n int) []eventstore.Event {
	all := make([]eventstore.Event, n)
	for i := range all {
		all[i] = eventstore.Event{ID: uuid.New(), Type: "Counted", Data: []byte(`{}`)}
	}
	return all
}

func last(t *testing.T, read func(func(eventstore.Recorded, error) bool)) (n int, err error) {
	t.Helper()
	for _, err := range read {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Positions have gaps, as on a server. A caller that computes a position
// instead of saving one gets an error.
func TestPositionsWithoutAnEvent(t *testing.T) {
	log := memory.New()
	appended, err := log.Append(t.Context(), "s-1", eventstore.NoStream, events(2)...)
	require.NoError(t, err)
	_, err = log.Append(t.Context(), "s-1", eventstore.At(1), events(1)...)
	require.NoError(t, err)
	wrong := appended.Position + 1
	for _, direction := range []eventstore.Direction{eventstore.Forwards, eventstore.Backwards} {
		_, err := last(t, log.ReadAll(t.Context(), wrong, eventstore.ReadOptions{Direction: direction}))
		require.ErrorContains(t, err, "no event is at position")
	}
	for _, err := range log.Subscribe(t.Context(), wrong, eventstore.Filter{}) {
		require.ErrorContains(t, err, "no event is at position")
	}
}

func TestMaxAgeHidesEventsWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		require.NoError(t, log.SetMetadata(t.Context(), "s-1", eventstore.StreamMetadata{MaxAge: time.Minute}))
		for i := range 3 {
			_, err := log.Append(t.Context(), "s-1", eventstore.Expected(i-1), events(1)...)
			require.NoError(t, err)
			<-time.After(25 * time.Second)
		}
		for _, want := range []int{2, 1, 0} {
			n, err := last(t, log.Read(t.Context(), "s-1", 0, eventstore.ReadOptions{}))
			require.NoError(t, err)
			require.Equal(t, want, n)
			<-time.After(25 * time.Second)
		}
	})
}

// In a synctest bubble, time passes while a subscriber waits, and no goroutines are
// left when the bubble ends.
func TestSubscribeInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() {
			for i := range 3 {
				<-time.After(time.Minute)
				_, err := log.Append(ctx, "s-1", eventstore.Expected(i-1), events(1)...)
				assert.NoError(t, err)
			}
		}()
		began := time.Now()
		var at []time.Duration
		for m, err := range log.Subscribe(ctx, 0, eventstore.Filter{}) {
			require.NoError(t, err)
			if m.Event != nil {
				at = append(at, time.Since(began))
			}
		}
		require.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute}, at)
		require.Equal(t, time.Hour, time.Since(began))
	})
}

// Append stores a copy, so the caller may change its event afterwards.
func TestAppendStoresACopy(t *testing.T) {
	log := memory.New()
	e := events(1)
	_, err := log.Append(t.Context(), "s-1", eventstore.NoStream, e...)
	require.NoError(t, err)
	e[0].Data[0] = 'x'
	for r, err := range log.Read(t.Context(), "s-1", 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		require.Equal(t, `{}`, string(r.Data))
	}
}

// A loss removes the newest events. Later events get their positions and revisions.
func TestLose(t *testing.T) {
	log := memory.New()
	first, err := log.Append(t.Context(), "s-1", eventstore.NoStream, events(1)...)
	require.NoError(t, err)
	lost := events(1)
	second, err := log.Append(t.Context(), "s-1", eventstore.At(0), lost...)
	require.NoError(t, err)
	held := 0 // events that the subscriber has got
	for m, err := range log.Subscribe(t.Context(), 0, eventstore.Filter{}) {
		if held == 2 {
			require.ErrorIs(t, err, eventstore.ErrEventsLost)
			break
		}
		require.NoError(t, err)
		if m.Event == nil {
			continue
		}
		if held++; held == 2 {
			log.Lose(first.Position)
			n, err := last(t, log.Read(t.Context(), "s-1", 0, eventstore.ReadOptions{}))
			require.NoError(t, err)
			require.Equal(t, 1, n)
			again, err := log.Append(t.Context(), "s-1", eventstore.At(0), lost...)
			require.NoError(t, err)
			require.Equal(t, second, again)
		}
	}
	require.Equal(t, 2, held)
	n, err := last(t, log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}))
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func BenchmarkAppend(b *testing.B) {
	log := memory.New()
	for i := 0; b.Loop(); i++ {
		if _, err := log.Append(b.Context(), "s-1", eventstore.Expected(i-1), events(1)...); err != nil {
			b.Fatal(err)
		}
	}
}

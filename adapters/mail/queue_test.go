package mail

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
)

// post is a queue among fakes, inside a bubble, and what it tried.
type post struct {
	*queue
	began time.Time
	stop  func()

	mu    sync.Mutex
	lines bytes.Buffer
	tried []string // "id@seconds since the beginning"
	fate  func(ctx context.Context, l letter) error
}

func (p *post) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines.Write(b)
}

func (p *post) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines.String()
}

func (p *post) take() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	tried := p.tried
	p.tried = nil
	return tried
}

func newPost(t *testing.T, fate func(ctx context.Context, l letter) error) *post {
	p := &post{began: time.Now(), fate: fate}
	p.queue = newQueue(func(ctx context.Context, l letter) error {
		p.mu.Lock()
		p.tried = append(p.tried, fmt.Sprintf("%s@%g", l.id, time.Since(p.began).Seconds()))
		p.mu.Unlock()
		return p.fate(ctx, l)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.run(ctx, slog.New(slog.NewTextHandler(p, nil))) }()
	p.stop = func() { cancel(); <-done }
	return p
}

func (p *post) lasting(id string, d time.Duration) letter {
	return letter{id: id, until: time.Now().Add(d)}
}

var errAway = &refusal{why: "away"}

func TestALetterIsDeliveredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, func(context.Context, letter) error { return nil })
		defer p.stop()
		for _, id := range []string{"a", "b"} {
			require.NoError(t, p.add(p.lasting(id, time.Hour)))
			require.Equal(t, []string{id + "@0"}, p.take())
		}
		<-time.After(2 * time.Hour)
		require.Empty(t, p.take(), "once")
		require.Empty(t, p.logged())
	})
}

func TestALetterIsTriedAgainWhileItIsOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, func(context.Context, letter) error { return errAway })
		defer p.stop()
		require.NoError(t, p.add(p.lasting("a", 15*time.Minute)))
		<-time.After(time.Hour)
		require.Equal(t, []string{"a@0", "a@1", "a@5", "a@21", "a@85", "a@325", "a@565", "a@805"}, p.take())
		require.Empty(t, p.waiting)
	})
}

func TestWhatIsRefusedForGoodIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, func(context.Context, letter) error { return &refusal{why: "no such box", forGood: true} })
		defer p.stop()
		require.NoError(t, p.add(p.lasting("a", time.Hour)))
		<-time.After(time.Hour)
		require.Equal(t, []string{"a@0"}, p.take())
		require.Contains(t, p.logged(), "no such box")
	})
}

// A letter that nobody takes does not hold up the others.
func TestOneThatFailsHoldsUpNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, func(_ context.Context, l letter) error {
			if l.id == "bad" {
				return errAway
			}
			return nil
		})
		defer p.stop()
		for range 20 {
			require.NoError(t, p.add(p.lasting("bad", time.Hour)))
		}
		require.Len(t, p.take(), 20)
		require.NoError(t, p.add(p.lasting("good", time.Hour)))
		require.Equal(t, []string{"good@0"}, p.take())
	})
}

func TestNoMoreThanFourAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := newPost(t, func(context.Context, letter) error { <-release; return nil })
		defer p.stop()
		for i := range queueLimit {
			require.NoError(t, p.add(p.lasting(fmt.Sprint(i), time.Hour)))
			if i == carriers {
				require.Len(t, p.take(), carriers)
			}
		}
		require.Empty(t, p.take())
		require.ErrorIs(t, p.add(p.lasting("more", time.Hour)), errQueueFull)
		close(release)
		require.Len(t, p.take(), queueLimit-carriers)
		require.NoError(t, p.add(p.lasting("more", time.Hour)))
	})
}

func TestAStopTriesOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := false
		p := newPost(t, func(context.Context, letter) error {
			if up {
				return nil
			}
			return errAway
		})
		for _, id := range []string{"a", "b"} {
			require.NoError(t, p.add(p.lasting(id, time.Hour)))
		}
		<-time.After(2 * time.Second)
		p.take()
		up = true
		p.stop()
		require.Len(t, p.take(), 2)
		require.NotContains(t, p.logged(), "before the stop")
	})
}

func TestAStopWaitsForNothingLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, func(ctx context.Context, _ letter) error { <-ctx.Done(); return errors.New("cut") })
		for range 2 * carriers {
			require.NoError(t, p.add(p.lasting("a", time.Hour)))
		}
		p.take()
		stopping := time.Now()
		p.stop()
		require.Equal(t, lastTime, time.Since(stopping))
		require.Contains(t, p.logged(), "before the stop")
	})
}

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

// fixture is a queue with a fake server, in a synctest bubble. The fake server records
// every attempt to deliver a letter.
type fixture struct {
	*queue
	began time.Time
	stop  func()

	mu      sync.Mutex
	lines   bytes.Buffer
	tried   []string // "id@seconds since the start"
	deliver func(ctx context.Context, l letter) error
}

func (p *fixture) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines.Write(b)
}

func (p *fixture) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines.String()
}

func (p *fixture) take() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	tried := p.tried
	p.tried = nil
	return tried
}

func newFixture(t *testing.T, deliver func(ctx context.Context, l letter) error) *fixture {
	p := &fixture{began: time.Now(), deliver: deliver}
	p.queue = newQueue(func(ctx context.Context, l letter) error {
		p.mu.Lock()
		p.tried = append(p.tried, fmt.Sprintf("%s@%g", l.id, time.Since(p.began).Seconds()))
		p.mu.Unlock()
		return p.deliver(ctx, l)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.run(ctx, slog.New(slog.NewTextHandler(p, nil))) }()
	p.stop = func() { cancel(); <-done }
	return p
}

func (p *fixture) letter(id string, d time.Duration) letter {
	return letter{id: id, until: time.Now().Add(d)}
}

var errDown = &refusal{why: "server is down"}

func TestLetterIsDeliveredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t, func(context.Context, letter) error { return nil })
		defer p.stop()
		for _, id := range []string{"a", "b"} {
			require.NoError(t, p.add(p.letter(id, time.Hour)))
			require.Equal(t, []string{id + "@0"}, p.take())
		}
		<-time.After(2 * time.Hour)
		require.Empty(t, p.take(), "delivered only once")
		require.Empty(t, p.logged())
	})
}

func TestLetterIsRetriedWhileItIsUseful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t, func(context.Context, letter) error { return errDown })
		defer p.stop()
		require.NoError(t, p.add(p.letter("a", 15*time.Minute)))
		<-time.After(time.Hour)
		require.Equal(t, []string{"a@0", "a@1", "a@5", "a@21", "a@85", "a@325", "a@565", "a@805"}, p.take())
		require.True(t, p.slots.TryAcquire(queueLimit), "the queue is empty")
	})
}

func TestPermanentRefusalIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t, func(context.Context, letter) error { return &refusal{why: "no such mailbox", permanent: true} })
		defer p.stop()
		require.NoError(t, p.add(p.letter("a", time.Hour)))
		<-time.After(time.Hour)
		require.Equal(t, []string{"a@0"}, p.take())
		require.Contains(t, p.logged(), "no such mailbox")
	})
}

func TestFailingLetterDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t, func(_ context.Context, l letter) error {
			if l.id == "bad" {
				return errDown
			}
			return nil
		})
		defer p.stop()
		for range 20 {
			require.NoError(t, p.add(p.letter("bad", time.Hour)))
		}
		require.Len(t, p.take(), 20)
		require.NoError(t, p.add(p.letter("good", time.Hour)))
		require.Equal(t, []string{"good@0"}, p.take())
	})
}

func TestQueueBoundsSendingAndWaitingLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := newFixture(t, func(context.Context, letter) error { <-release; return nil })
		defer p.stop()
		for i := range queueLimit {
			require.NoError(t, p.add(p.letter(fmt.Sprint(i), time.Hour)))
			if i == maxSending {
				require.Len(t, p.take(), maxSending)
			}
		}
		require.Empty(t, p.take())
		require.ErrorIs(t, p.add(p.letter("more", time.Hour)), errQueueFull)
		close(release)
		require.Len(t, p.take(), queueLimit-maxSending)
		require.NoError(t, p.add(p.letter("more", time.Hour)))
	})
}

func TestStopTriesWaitingLettersOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := false
		p := newFixture(t, func(context.Context, letter) error {
			if up {
				return nil
			}
			return errDown
		})
		for _, id := range []string{"a", "b"} {
			require.NoError(t, p.add(p.letter(id, time.Hour)))
		}
		<-time.After(2 * time.Second)
		p.take()
		up = true
		p.stop()
		require.Len(t, p.take(), 2)
		require.NotContains(t, p.logged(), "before the shutdown")
	})
}

func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t, func(ctx context.Context, _ letter) error { <-ctx.Done(); return errors.New("cut") })
		for range 2 * maxSending {
			require.NoError(t, p.add(p.letter("a", time.Hour)))
		}
		p.take()
		stopping := time.Now()
		p.stop()
		require.Equal(t, lastTime, time.Since(stopping))
		require.Contains(t, p.logged(), "before the shutdown")
	})
}

package eventstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// AttemptTime is the usual bound of one call of the log. Each call of Retry sets it
// itself, because some calls must outlive the context that ends the retries.
const AttemptTime = 5 * time.Second

const (
	firstPause = 50 * time.Millisecond // before the second attempt; it doubles with each failure
	longPause  = time.Second
)

// Retry calls a log until the call succeeds, fails with a final error, or ctx
// ends. In the last case it returns the error of ctx together with that of the
// last attempt. A wrong version, ErrStreamDeleted, ErrTooLarge and the given
// errors are final. An attempt may have been stored although it failed, so an
// append must use the same event ids each time.
func Retry(ctx context.Context, call func() error, final ...error) error {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := call()
		if err == nil || IsWrongVersion(err) || errors.Is(err, ErrStreamDeleted) || errors.Is(err, ErrTooLarge) ||
			slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
			return err
		}
		if ended := Sleep(ctx, pause/2+rand.N(pause)); ended != nil { // at random, so that callers do not retry in step
			return errors.Join(ended, err)
		}
	}
}

// Sleep waits for d. If ctx ends first, it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

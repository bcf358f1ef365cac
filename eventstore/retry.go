package eventstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// AttemptTime is the usual time limit for one call to the log. The functions
// that are passed to Retry apply this limit themselves, because some calls must
// outlive the context that ends the retries.
const AttemptTime = 5 * time.Second

const (
	firstPause = 50 * time.Millisecond // pause before the second attempt; the pause doubles with each failure
	longPause  = time.Second
)

// Retry calls a log until the call succeeds, fails with a final error, or ctx ends.
// If ctx ends, Retry returns the error of ctx together with the error of the last
// attempt. A wrong version, ErrStreamDeleted, ErrTooLarge, ErrEventsLost and the given
// errors are final. A failed append may have been stored anyway, so it must use the same event
// ids in each attempt.
func Retry(ctx context.Context, call func() error, final ...error) error {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := call()
		if err == nil || IsWrongVersion(err) || errors.Is(err, ErrStreamDeleted) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrEventsLost) ||
			slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
			return err
		}
		if ended := Sleep(ctx, pause/2+randomBelow(pause)); ended != nil { // random, so that callers do not all retry at the same moment
			return errors.Join(ended, err)
		}
	}
}

// randomBelow returns a random duration below d. It uses crypto/rand, because a
// simulation can repeat its numbers (testing/cryptotest).
func randomBelow(d time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(d))
}

// Sleep waits for d. If ctx ends first, it returns the error of ctx. It does not
// wait if d is not positive.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

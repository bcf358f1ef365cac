package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

func TestRetryUntilTheCallSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		require.NoError(t, eventstore.Retry(t.Context(), func() error {
			if calls++; calls < 4 {
				return eventstore.ErrUnavailable
			}
			return nil
		}))
		require.Equal(t, 4, calls)
	})
}

func TestRetryStopsAtFinalErrors(t *testing.T) {
	mine := errors.New("final for this caller")
	for _, final := range []error{mine, eventstore.ErrStreamDeleted, eventstore.ErrTooLarge, &eventstore.WrongVersionError{}} {
		calls := 0
		err := eventstore.Retry(t.Context(), func() error {
			calls++
			return fmt.Errorf("append: %w", final)
		}, mine)
		require.ErrorIs(t, err, final)
		require.Equal(t, 1, calls)
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := eventstore.Retry(ctx, func() error { return eventstore.ErrUnavailable })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, eventstore.ErrUnavailable)
	})
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/lease"
	"hexarena/adapters/membership"
	"hexarena/adapters/referee"
	"hexarena/domain/ladder"
	"hexarena/eventstore/memory"
)

// newMember returns an arena that can only take part in matches that never end. No mode is
// known, so its referee stops playing them at once.
func newMember(log *memory.Log, id string) *arena {
	logger := slog.New(slog.DiscardHandler)
	members := membership.New(membership.Options{
		Log: log, Member: id, Host: "host-" + id, MaxMatches: func() int { return 10 }, SeedKeys: func() []string { return []string{"k1"} },
		Unfinished: func(context.Context) ([]ladder.Seating, error) {
			return []ladder.Seating{{MatchID: "m1", SeedKey: "k1"}, {MatchID: "m2", SeedKey: "k1"}}, nil
		},
		Retry: time.Minute, Logger: logger,
	})
	return &arena{logger: logger, player: &player{members: members, referee: referee.New(referee.Options{Logger: logger})}}
}

// The seating process hands over its matches before its ticks and trials have stopped.
func TestHandoverDoesNotWaitForSeating(t *testing.T) {
	for name, failure := range map[string]error{"graceful stop": nil, "seating failed": errors.New("a failure")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := memory.New()
				other, stopOther := context.WithCancel(t.Context())
				b := newMember(log, "b")
				ended := make(chan error, 2)
				go func() {
					ended <- b.takePart(other, func(ctx context.Context) (*seater, *lease.Lease, error) {
						<-ctx.Done()
						return nil, nil, nil
					})
				}()
				synctest.Wait()

				a := newMember(log, "a")
				ctx, stop := context.WithCancel(t.Context())
				s := &seater{assigner: assigner{a.player.members, nil, 1, func(ladder.Seating) bool { return false }}}
				slow := make(chan struct{})
				go func() {
					ended <- a.takePart(ctx, func(ctx context.Context) (*seater, *lease.Lease, error) {
						a.seating.Store(s)
						<-time.After(10 * time.Second) // until the arenas know each other
						if err := s.assigner.Assign(ctx); err != nil || failure != nil {
							return s, nil, errors.Join(err, failure)
						}
						<-ctx.Done()
						<-slow // a tick or a trial does not stop
						return s, nil, nil
					})
				}()
				<-time.After(11 * time.Second)
				if failure == nil {
					require.EqualValues(t, 0, b.player.members.Handovers())
					stop()
				}
				<-time.After(handoverTime)
				synctest.Wait()
				require.EqualValues(t, 1, b.player.members.Handovers())
				require.Len(t, b.player.members.List(), 1)
				close(slow)
				require.ErrorIs(t, <-ended, failure)
				stopOther()
				require.NoError(t, <-ended)
				stop()
			})
		})
	}
}

// A process that plays from a copy of another one's data folder stops seating, too.
func TestCopyOfADataFolderStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for range 2 {
			a := newMember(log, "a")
			go func() {
				ended <- a.takePart(ctx, func(ctx context.Context) (*seater, *lease.Lease, error) {
					<-ctx.Done()
					return nil, nil, nil
				})
			}()
			<-time.After(time.Second)
		}
		require.ErrorContains(t, <-ended, "copy of the data folder")
		stop()
		require.NoError(t, <-ended)
	})
}

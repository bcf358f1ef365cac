package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/matchmaker"
	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest/outage"
	"hexarena/eventstore/memory"
)

// Two bots wait, because a table needs at least three. Another process on the same
// log, which seats no tables, counts the same bots, even during an outage.
func TestQueueOfTwoProcesses(t *testing.T) {
	t.Parallel()
	s := newTestArena(t)
	s.start()
	node := outage.New(t, s.arena.await(`event store on esdb://(\S+)\?`)[1])
	peer := newTestArena(t, "--no-play", "--secrets", filepath.Join(s.data, "secrets.json"), "--mail", "file:"+filepath.Join(s.data, "mail"),
		"--eventstore", fmt.Sprintf("esdb://%s?tls=false", node.Address()))
	peer.start()
	queue := func(a *testArena, mode string) (q rest.Queue) {
		eventually(t, "the log answers within a second", func() bool {
			status, body := fetch(t, a.base()+"/queue?mode="+mode)
			if status == http.StatusServiceUnavailable {
				return false
			}
			require.Equal(t, http.StatusOK, status, body)
			require.NoError(t, json.Unmarshal([]byte(body), &q))
			return true
		})
		return q
	}
	require.Zero(t, queue(s, ladder.Standard).Waiting)
	s.join(newTestBot(t, "one"), newTestBot(t, "two"))
	eventually(t, "both processes know the bots, and one of them seats", func() bool {
		q := queue(s, ladder.Standard)
		return q.Waiting == 2 && q.NextTick != nil && queue(peer, ladder.Standard).Waiting == 2
	})
	require.Nil(t, queue(peer, ladder.Standard).NextTick)
	require.Zero(t, queue(s, ladder.Parley).Waiting)

	node.Set(outage.Refused)
	eventually(t, "the outage is known, and the queue is still served", func() bool {
		res, err := http.Get(peer.base() + "/queue")
		require.NoError(t, err)
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK && res.Header.Get(rest.HeaderStale) != ""
	})
	require.Equal(t, 2, queue(peer, ladder.Standard).Waiting)
	status, body := fetch(t, peer.base()+"/queue?mode=parley")
	require.Equal(t, http.StatusServiceUnavailable, status, "this process has never read the ladder of parley: %s", body)
	node.Set(outage.None)
	peer.stop()
	s.stop()
}

// unavailableLog has been unavailable since the time since. If since is zero, it is available.
type unavailableLog struct {
	logClient
	log   eventstore.Log
	since time.Time
}

func (l *unavailableLog) Outage() time.Duration {
	if l.since.IsZero() {
		return 0
	}
	return time.Since(l.since)
}

func (l *unavailableLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if l.since.IsZero() {
		return l.log.Read(ctx, id, from, o)
	}
	return func(yield func(eventstore.Recorded, error) bool) {
		yield(eventstore.Recorded{}, eventstore.ErrUnavailable)
	}
}

// During an outage, the queue uses a ladder only if it was read at most a minute before the outage.
func TestQueueUsesARecentLadder(t *testing.T) {
	for between, served := range map[time.Duration]bool{0: true, queueSlack - time.Second: true, queueSlack + time.Second: false} {
		t.Run(between.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &unavailableLog{log: memory.New()}
				l := matchmaker.NewLadder(log, matchmaker.LadderOptions{Mode: ladder.Standard, Logger: slog.New(slog.DiscardHandler)})
				q := newQueue(&arena{log: log, ladders: []*matchmaker.Ladder{l}})
				_, err := q.Places(t.Context(), ladder.Standard, nil)
				require.NoError(t, err)
				<-time.After(between)
				log.since = time.Now()
				<-time.After(time.Hour)
				for range 2 { // a read that fails does not make the ladder younger
					_, err = q.Places(t.Context(), ladder.Standard, nil)
					if served {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, eventstore.ErrUnavailable)
					}
				}
			})
		})
	}
}

// Calls within a second share one count of the queue, whether the count is still
// running, has ended or has failed. If one caller leaves, the count continues for the
// others.
func TestCallsShareACountOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted, failure := 0, error(nil)
		c := newQueueCount(func(ctx context.Context) (int, error) {
			counted++
			<-time.After(queueTime / 2) // on the bubble's clock
			return 10 * counted, errors.Join(failure, ctx.Err())
		})
		leaving, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() { _, _ = c.latest(leaving) })
		synctest.Wait()
		require.Equal(t, 1, counted)
		for range 100 {
			callers.Go(func() {
				n, err := c.latest(t.Context())
				require.NoError(t, err)
				require.Equal(t, 10, n)
			})
		}
		leave()
		callers.Wait()
		<-time.After(queueAge - time.Millisecond)
		n, _ := c.latest(t.Context())
		require.Equal(t, 10, n)
		<-time.After(time.Millisecond)
		failure = errors.New("no log")
		for range 3 {
			_, err := c.latest(t.Context())
			require.ErrorIs(t, err, failure)
		}
		require.Equal(t, 2, counted)
	})
}

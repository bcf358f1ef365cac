package esdb

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest/outage"
)

func value(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	require.NoError(t, c.Write(&m))
	return m.GetCounter().GetValue()
}

// averageAppend returns the average time of an append in seconds.
func averageAppend(t *testing.T, log *Log) float64 {
	t.Helper()
	var m dto.Metric
	require.NoError(t, log.metrics.appendTime.Write(&m))
	return m.GetHistogram().GetSampleSum() / float64(m.GetHistogram().GetSampleCount())
}

// scrape returns the metrics of a log, by name and label.
func scrape(t *testing.T, log *Log) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(log.Collector()))
	families, err := registry.Gather()
	require.NoError(t, err)
	figures := map[string]float64{}
	for _, family := range families {
		require.Regexp(t, "^arena_log_", family.GetName())
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += fmt.Sprintf("{%s=%q}", label.GetName(), label.GetValue())
			}
			switch family.GetType() {
			case dto.MetricType_COUNTER:
				figures[name] = m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				figures[name] = m.GetGauge().GetValue()
			default:
				figures[name] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return figures
}

func TestMetricsOfCalls(t *testing.T) {
	log, p := openThroughAt(t, unhurried)
	require.Zero(t, scrape(t, log)["arena_log_available"], "not connected yet")
	_, err := log.Append(t.Context(), "counted-1", eventstore.NoStream, events(3)...)
	require.NoError(t, err)
	_, err = log.Append(t.Context(), "counted-1", eventstore.NoStream, events(1)...)
	require.True(t, eventstore.IsWrongVersion(err))
	require.NoError(t, log.SetMetadata(t.Context(), "counted-1", eventstore.StreamMetadata{MaxCount: 9}))
	require.NoError(t, last(log.Read(t.Context(), "counted-1", 0, eventstore.ReadOptions{})))
	require.NoError(t, last(log.Read(t.Context(), "none-1", 0, eventstore.ReadOptions{})))
	require.NoError(t, last(log.ReadAll(t.Context(), 0, eventstore.ReadOptions{Limit: 2})))
	require.NoError(t, log.Tombstone(t.Context(), "counted-1", eventstore.At(2)))
	require.ErrorIs(t, last(log.Read(t.Context(), "counted-1", 0, eventstore.ReadOptions{})), eventstore.ErrStreamDeleted)

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = log.Append(cancelled, "counted-2", eventstore.Any, events(1)...)
	require.ErrorIs(t, err, context.Canceled)
	p.Set(outage.Refused)
	_, err = log.Append(afterFailedConnects(t, log), "counted-2", eventstore.Any, events(1)...)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)

	during := scrape(t, log)
	require.Zero(t, during["arena_log_available"])
	require.Positive(t, during["arena_log_unavailable_seconds_total"])
	require.Positive(t, during["arena_log_retries_total"])
	require.Positive(t, during["arena_log_connect_failures_total"])
	require.Zero(t, during["arena_log_reconnects_total"])
	p.Set(outage.None)
	require.NoError(t, log.Ping(t.Context()))
	got := scrape(t, log)
	for name, want := range map[string]float64{
		`arena_log_appends_total{result="done"}`:        3,
		`arena_log_appends_total{result="conflict"}`:    1,
		`arena_log_appends_total{result="refused"}`:     0,
		`arena_log_appends_total{result="unavailable"}`: 1,
		`arena_log_appends_total{result="cancelled"}`:   1,
		`arena_log_append_seconds`:                      6,
		`arena_log_conflicts_total`:                     1,
		`arena_log_reads_total{result="done"}`:          3,
		`arena_log_reads_total{result="refused"}`:       1,
		`arena_log_read_seconds`:                        4,
		`arena_log_events_total{how="appended"}`:        5,
		`arena_log_events_total{how="read"}`:            5,
		`arena_log_reconnects_total`:                    1,
		`arena_log_available`:                           1,
	} {
		require.Contains(t, got, name)
		require.Equal(t, want, got[name], name)
	}
	require.Greater(t, got["arena_log_unavailable_seconds_total"], 0.0)
}

func TestMetricsOfSubscriptions(t *testing.T) {
	log, p := openThrough(t)
	const open, lag = `arena_log_subscriptions{filter="seen-,heard-"}`, `arena_log_subscription_lag_seconds{filter="seen-,heard-"}`
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	taken, live := make(chan struct{}), make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		for m, err := range log.Subscribe(ctx, 0, eventstore.Filter{StreamPrefixes: []string{"seen-", "heard-"}}) {
			if err != nil {
				done <- err
				return
			}
			if m.Event != nil {
				taken <- struct{}{}
			}
			if m.CaughtUp {
				note(live)
			}
		}
		done <- nil
	}()
	<-live
	require.Eventually(t, func() bool { return scrape(t, log)[lag] == 0 }, testPatience, time.Millisecond, "no message waits")
	require.Equal(t, 1.0, scrape(t, log)[open])
	_, err := log.Append(ctx, "seen-1", eventstore.NoStream, events(1)...)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return scrape(t, log)[lag] > 0.05 }, testPatience, time.Millisecond, "the subscriber is slow")
	<-taken
	require.Eventually(t, func() bool { return scrape(t, log)[lag] == 0 }, testPatience, time.Millisecond)
	require.Equal(t, 1.0, scrape(t, log)[`arena_log_events_total{how="subscribed"}`])

	p.Set(outage.Refused)
	require.Eventually(t, func() bool { return scrape(t, log)[lag] > 0.05 }, testPatience, time.Millisecond, "the log is unavailable")
	p.Set(outage.None)
	<-live
	require.Eventually(t, func() bool { return scrape(t, log)[lag] == 0 }, testPatience, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
	require.NotContains(t, scrape(t, log), open)
}

// Messages of a lost connection do not affect the lag.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMetrics()
		s, leave := m.follow(eventstore.Filter{})
		pass := func(d time.Duration) { <-time.After(d) }
		pass(time.Second)
		require.Equal(t, time.Second, s.lag(), "not live yet")
		link := s.connection()
		s.took(s.came(link), true)
		pass(time.Second)
		require.Zero(t, s.lag())
		first := s.came(link)
		pass(time.Second)
		second := s.came(link)
		pass(time.Second)
		require.Equal(t, 2*time.Second, s.lag(), "the first message waits")
		s.took(first, false)
		s.took(second, false)
		require.Zero(t, s.lag())
		s.came(link)
		pass(time.Second)
		s.dropped()
		s.came(link) // on a lost connection
		pass(time.Second)
		require.Equal(t, 2*time.Second, s.lag(), "since the oldest message that was not taken")
		s.took(s.came(s.connection()), true)
		require.Zero(t, s.lag())
		leave()
		open, _ := m.lags()
		require.Empty(t, open)
	})
}

func TestResultOf(t *testing.T) {
	for err, want := range map[error]string{
		&eventstore.WrongVersionError{}: resultConflict,
		fmt.Errorf("read s: %w: %w", eventstore.ErrUnavailable, context.DeadlineExceeded): resultUnavailable,
		fmt.Errorf("read s: %w", context.Canceled):                                        resultCancelled,
		fmt.Errorf("read s: %w", ErrClosed):                                               resultCancelled,
		errors.New("not for you"):                                                         resultRefused,
		eventstore.ErrStreamDeleted:                                                       resultRefused,
	} {
		require.Equal(t, want, resultOf(err), err)
	}
	require.Equal(t, resultDone, resultOf(nil))
}

// A generation may report its retirement after the next generation has connected.
// By then, the event store is available again, so the log must ignore the report.
func TestReportOfAnOldGenerationIsIgnored(t *testing.T) {
	log := openDirect(t, "127.0.0.1:1") // it never connects
	first, second := newGeneration(1), newGeneration(2)
	log.metrics.connect(nil)
	log.report(first, nil)
	log.report(second, nil)
	log.report(first, errSilent)
	require.Equal(t, 1.0, scrape(t, log)["arena_log_available"])
	log.report(second, errSilent)
	require.Zero(t, scrape(t, log)["arena_log_available"])
	log.report(newGeneration(3), nil)
	require.Equal(t, 1.0, scrape(t, log)["arena_log_available"])
}

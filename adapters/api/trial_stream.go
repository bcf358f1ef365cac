package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"hexarena/adapters/rest"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/live"
)

// paceTrial is the minimum time between two reads of a trial for one stream.
const paceTrial = 250 * time.Millisecond

func (s *Server) streamTrial(c *call, in *trialPath) (stream, error) {
	t := &trialSource{
		server: s, ctx: c.request.Context(), ownerID: c.account.ID, botID: in.ID, trialID: in.TrialID,
		last: lastEventID(c.request.Header), changed: make(chan struct{}, 1),
	}
	if !isHead(t.ctx) {
		go t.watch()
	}
	return stream{source: t, pace: paceTrial}, nil
}

// trialSource supplies the records of one trial to one reader. Another process may play
// the trial, so the source follows the trial's streams in the log. It reads them when
// the reader is ready for more. Between reads, it remembers only what it has sent.
type trialSource struct {
	server                  *Server
	ctx                     context.Context
	ownerID, botID, trialID string
	changed                 chan struct{} // receives a value when the trial may have changed

	status string // the last status that was sent
	last   int    // seq of the last decision that was sent
}

// The method watch() calls wake after each change, until the reader leaves.
func (t *trialSource) watch() {
	filter := eventstore.Filter{StreamPrefixes: []string{
		match.TrialStream(t.trialID), match.DetailsStream(t.trialID), owner.AccountStream(t.ownerID),
	}}
	for m, err := range t.server.Log.Subscribe(t.ctx, eventstore.EndPosition, filter) {
		if err != nil {
			t.server.Logger.Error("the stream of a trial is not up to date", slog.String("trial", t.trialID), slog.Any("error", err))
			return
		}
		if m.Event != nil || m.CaughtUp {
			t.wake()
		}
	}
}

func (t *trialSource) wake() {
	select {
	case t.changed <- struct{}{}:
	default: // the reader will read anyway
	}
}

// Take implements source.
func (t *trialSource) Take() (records [][]byte, more <-chan struct{}, ended bool) {
	records, ended, err := t.read()
	if err != nil {
		t.server.Logger.Warn("could not read a trial; retrying", slog.String("trial", t.trialID), slog.Any("error", err))
		t.wake()
	}
	return records, t.changed, ended
}

// read returns the records that the reader has not received.
func (t *trialSource) read() (records [][]byte, ended bool, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, callTime)
	defer cancel()
	account, err := t.server.Accounts.Reload(ctx, t.ownerID)
	if err != nil {
		return nil, false, err
	}
	now, err := t.server.readTrial(ctx, account, t.botID, t.trialID)
	if err != nil {
		return nil, false, err
	}
	body := now.body()
	if body.Status != t.status && body.Status != rest.TrialEnded {
		records = append(records, recordOf("trial", 0, body))
	}
	t.status = body.Status
	if now.started {
		for _, d := range now.settled() {
			if d.Seq > t.last {
				records = append(records, recordOf("decision", d.Seq, d))
				t.last = d.Seq
			}
		}
	}
	if ended = body.Status == rest.TrialEnded; ended {
		records = append(records, recordOf("end", 0, body))
	}
	return records, ended, nil
}

func recordOf(event string, id int, value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, integers and booleans always encode
	}
	return live.Record(event, id, data)
}

package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/accounts"
	"hexarena/projections/frames"
)

func TestOrderTrial(t *testing.T) {
	r := newRivals(t)
	bot := "/bots/" + r.bots[0]
	r.ada.do(http.MethodPost, bot+"/trial", nil).is(http.StatusConflict, "bot_not_paused")
	r.bob.do(http.MethodPost, bot+"/trial", nil).is(http.StatusNotFound, "not_found")
	r.ada.do(http.MethodPatch, bot, `{"status":"paused"}`).is(http.StatusOK)
	ordered := r.ada.do(http.MethodPost, bot+"/trial", nil).is(http.StatusAccepted).json
	require.Equal(t, "waiting", ordered["status"])
	require.Equal(t, r.bots[0], ordered["botId"])
	id := ordered["id"].(string)
	shown := r.ada.do(http.MethodGet, bot, nil).is(http.StatusOK).json["trial"].(map[string]any)
	require.Equal(t, id, shown["id"])
	require.Nil(t, shown["outcome"])
	require.Equal(t, ordered, r.ada.do(http.MethodGet, bot+"/trials/"+id, nil).is(http.StatusOK).json)
	r.ada.do(http.MethodGet, bot+"/trials/"+id+"/frames", nil).is(http.StatusNotFound, "not_found")
	require.Empty(t, r.ada.do(http.MethodGet, bot+"/trials/"+id+"/decisions", nil).decided())

	r.ada.do(http.MethodPost, bot+"/trial", nil).is(http.StatusConflict, "bot_in_trial")
	r.ada.do(http.MethodPatch, bot, `{"status":"active"}`).is(http.StatusConflict, "bot_in_trial")
	r.endTrial(id, owner.TrialInMatch)
	ended := r.ada.do(http.MethodGet, bot+"/trials/"+id, nil).is(http.StatusOK).json
	require.Equal(t, "ended", ended["status"])
	require.Equal(t, "in_match", ended["outcome"])
	for range owner.TrialLimit - 1 {
		r.endTrial(r.ada.do(http.MethodPost, bot+"/trial", nil).is(http.StatusAccepted).json["id"].(string), owner.TrialInMatch)
	}
	limited := r.ada.do(http.MethodPost, bot+"/trial", nil).is(http.StatusTooManyRequests, "rate_limited")
	require.Equal(t, "3600", limited.header.Get("Retry-After"))
	require.Equal(t, "more than 10 trials within an hour: try again in 3600 s", limited.json["detail"])
	r.ada.do(http.MethodPatch, bot, `{"status":"active"}`).is(http.StatusOK)
}

// If an owner pauses a bot during a match, the match continues. Until it ends, the bot
// cannot have a trial.
func TestNoTrialDuringAMatch(t *testing.T) {
	r := newRivals(t)
	g := r.play.Seat(ladder.Standard, r.bots...)[0]
	g.Start()
	r.read.sync()
	bot := "/bots/" + r.bots[0]
	r.ada.do(http.MethodPatch, bot, `{"status":"paused"}`).is(http.StatusOK)
	r.ada.do(http.MethodPost, bot+"/trial", nil).is(http.StatusConflict, "bot_in_match")
	g.PlayOut()
	g.Conclude()
	r.read.sync()
	r.ada.do(http.MethodPost, bot+"/trial", nil).is(http.StatusAccepted)
}

func TestRegisterPausedBot(t *testing.T) {
	r := newRivals(t)
	registered := r.ada.do(http.MethodPost, "/bots", `{"name":"New","mode":"standard","url":"http://127.0.0.1:9001","status":"paused"}`).is(http.StatusCreated).json
	require.Equal(t, "paused", registered["status"])
	r.ada.do(http.MethodPost, "/bots/"+registered["id"].(string)+"/trial", nil).is(http.StatusAccepted)
	r.ada.do(http.MethodPost, "/bots", `{"name":"New","mode":"standard","url":"http://127.0.0.1:9001","status":"resting"}`).is(http.StatusUnprocessableEntity, "invalid").names("status")
}

// playedTrial stores a trial of ada's bot, and copies the events of a match into the
// trial's game. It returns the trial's id and history.
func playedTrial(t *testing.T, r *rivals) (string, frames.History) {
	t.Helper()
	g := r.play.Complete(ladder.Standard, r.bots...)
	id := r.trial()
	for e, err := range r.arena.log.Log.Read(t.Context(), eventstore.StreamID(match.Stream(g.MatchID)), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		_, err = r.arena.log.Append(t.Context(), eventstore.StreamID(match.TrialStream(id)), eventstore.Any, e.Event)
		require.NoError(t, err)
	}
	h, err := frames.ReadTrial(t.Context(), r.arena.log, id)
	require.NoError(t, err)
	return id, h
}

// trial pauses ada's bot and orders a trial of it.
func (r *rivals) trial() string {
	r.ada.do(http.MethodPatch, "/bots/"+r.bots[0], `{"status":"paused"}`).is(http.StatusOK)
	return r.ada.do(http.MethodPost, "/bots/"+r.bots[0]+"/trial", nil).is(http.StatusAccepted).json["id"].(string)
}

func (r *rivals) endTrial(id, outcome string) {
	_, _, err := accounts.New(r.arena.log).Change(r.t.Context(), "ada", eventstore.Metadata{At: r.now}, func(a owner.Account) ([]owner.Event, error) {
		return a.EndTrial(r.bots[0], id, outcome), nil
	})
	require.NoError(r.t, err)
}

func TestTrialResult(t *testing.T) {
	r := newRivals(t)
	other := r.play.Register("bob", ladder.Parley, "Eve")[0]
	id, h := playedTrial(t, r)
	path := "/bots/" + r.bots[0] + "/trials/" + id
	require.Equal(t, "running", r.ada.do(http.MethodGet, path, nil).is(http.StatusOK).json["status"], "the account does not contain the end yet")
	r.endTrial(id, owner.TrialCompleted)

	got := r.ada.do(http.MethodGet, path, nil).is(http.StatusOK).json
	require.Equal(t, "ended", got["status"])
	require.Equal(t, "completed", got["outcome"])
	seat, _ := h.SeatOf(r.bots[0])
	require.EqualValues(t, seat, got["seat"])
	require.EqualValues(t, len(h.Replay()), got["events"])
	end := h.Events[len(h.Events)-1].(match.GameEnded)
	for i, p := range got["players"].([]any) {
		require.EqualValues(t, end.Scores[i], p.(map[string]any)["score"])
		require.EqualValues(t, end.Placements[i], p.(map[string]any)["placement"])
	}
	decisions := h.Decisions(seat, nil, match.NewDetails())
	counted, struck, slowest := 0, 0, int64(0)
	for _, k := range got["decisions"].([]any) {
		for _, outcome := range []string{"played", "timeouts", "illegal"} {
			counted += int(k.(map[string]any)[outcome].(float64))
		}
	}
	for _, d := range decisions {
		slowest = max(slowest, d.ElapsedMs)
		if d.Outcome != frames.Played {
			struck++
		}
	}
	require.Equal(t, len(decisions), counted)
	require.Len(t, got["strikes"], struck)
	require.EqualValues(t, slowest, got["latency"].(map[string]any)["maxMs"])

	require.Len(t, r.ada.do(http.MethodGet, path+"/decisions", nil).decided(), len(decisions))
	require.Len(t, r.ada.do(http.MethodGet, path+"/frames?seat=all", nil).is(http.StatusOK).json["frames"], len(h.Replay()))
	r.ada.do(http.MethodGet, path+"/frames?seat=4", nil).is(http.StatusUnprocessableEntity, "invalid")

	stream := string(r.ada.do(http.MethodGet, path+"/stream", nil).is(http.StatusOK).body)
	require.Equal(t, len(decisions), strings.Count(stream, "event: decision\n"))
	require.True(t, strings.HasPrefix(stream, "event: decision\nid: "))
	last := stream[strings.LastIndex(stream, "event: end\ndata: ")+len("event: end\ndata: "):]
	var ended map[string]any
	require.NoError(t, json.Unmarshal([]byte(last), &ended))
	require.Equal(t, got, ended)
	resumed := string(r.ada.do(http.MethodGet, path+"/stream", nil, func(q *http.Request) { q.Header.Set("Last-Event-ID", "9999") }).is(http.StatusOK).body)
	require.True(t, strings.HasPrefix(resumed, "event: end\n"), resumed)

	for _, part := range []string{"", "/stream", "/frames", "/decisions"} {
		r.bob.do(http.MethodGet, path+part, nil).is(http.StatusNotFound, "not_found")
		r.bob.do(http.MethodGet, "/bots/"+other+"/trials/"+id+part, nil).is(http.StatusNotFound, "not_found")
		r.anyone().do(http.MethodGet, path+part, nil).is(http.StatusUnauthorized)
	}
	r.anyone().do(http.MethodGet, "/matches/"+id, nil).is(http.StatusNotFound)
	r.anyone().do(http.MethodGet, "/live/"+id, nil).is(http.StatusNotFound)
}

// A trial that is not the bot's latest is found by its stream.
func TestEarlierTrial(t *testing.T) {
	r := newRivals(t)
	id, _ := playedTrial(t, r)
	r.endTrial(id, owner.TrialCompleted)
	path := "/bots/" + r.bots[0] + "/trials/" + id
	latest := r.ada.do(http.MethodGet, path, nil).is(http.StatusOK).json
	r.trial()
	earlier := r.ada.do(http.MethodGet, path, nil).is(http.StatusOK).json
	require.Equal(t, "completed", earlier["outcome"])
	delete(earlier, "endedAt") // the end of the game, not of the trial
	delete(latest, "endedAt")
	require.Equal(t, latest, earlier)
}

// A reader of the stream sees the trial end as soon as the log has the event.
func TestTrialStreamFollowsTheLog(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("Ann", ladder.Standard)
	ada.do(http.MethodPatch, "/bots/"+bot, `{"status":"paused"}`).is(http.StatusOK)
	trial := ada.do(http.MethodPost, "/bots/"+bot+"/trial", nil).is(http.StatusAccepted).json["id"].(string)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+"/bots/"+bot+"/trials/"+trial+"/stream", nil)
	require.NoError(t, err)
	q.AddCookie(ada.cookie)
	response, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "event: trial\n", line)

	owned := ada.do(http.MethodGet, "/me", nil).json["id"].(string)
	_, _, err = accounts.New(a.log).Change(t.Context(), owned, eventstore.Metadata{At: a.now}, func(a owner.Account) ([]owner.Event, error) {
		return a.EndTrial(bot, trial, owner.TrialDraining), nil
	})
	require.NoError(t, err)
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Contains(t, string(rest), "event: end\n")
	require.Contains(t, string(rest), `"outcome":"draining"`)
}

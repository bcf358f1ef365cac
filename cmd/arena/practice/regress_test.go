package practice

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
)

// scriptedBot serves a bot over a socket. reply returns the answers to a request: none,
// one or more. If it returns nil, the bot closes the connection.
func scriptedBot(t testing.TB, reply func(matchID string, id int, frame []byte) []string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		conn.SetReadLimit(1 << 20)
		for {
			_, frame, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			var request struct{ ID int }
			_ = json.Unmarshal(frame, &request) // the bot gets valid requests
			answers := reply(r.Header.Get("x-arena-match"), request.ID, frame)
			if answers == nil {
				_ = conn.Close(websocket.StatusGoingAway, "had enough")
				return
			}
			for _, text := range answers {
				if conn.Write(r.Context(), websocket.MessageText, []byte(text)) != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func regress(t testing.TB, args ...string) regressReport {
	t.Helper()
	out, err := callCommand(t.Context(), append(append([]string{"regress"}, args...), "--json")...)
	require.NoError(t, err)
	var r regressReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	return r
}

// A deterministic bot gives the same answers again: over a socket, as a program, and as
// a house bot. It does not matter whether the records have decision logs: without them,
// the requests follow from the replay.
func TestRegressOfTheSameBot(t *testing.T) {
	for _, bot := range []string{newInterrupter(t).url, botCommand(t, "")} { // the seed of both bots is always 1
		file := oneRecord(t, playRecords(t, bot, "house:random", "house:random", "-n", "1", "--seats", "fixed", "--decision", "1m"))
		r := regress(t, bot, file, "--seat", "0")
		require.Positive(t, r.Requests)
		require.Equal(t, counts{Requests: r.Requests, Same: r.Requests}, r.counts)
	}

	dir := playRecords(t, "house:greedy", "house:random", "house:random", "-n", "3")
	r := regress(t, "house:random", dir, "--name", "random", "--parallel", "2", "--wait", "1m")
	require.Equal(t, 3, r.Records)
	require.Equal(t, counts{Requests: r.Requests, Same: r.Requests}, r.counts)
	require.Empty(t, r.Differences)
	kinds := 0
	for _, k := range r.Kinds {
		kinds += k.Requests
	}
	require.Equal(t, r.Requests, kinds)

	text, err := os.ReadFile(oneRecord(t, dir))
	require.NoError(t, err)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &fields))
	delete(fields, "decisionLogs")
	public, err := json.Marshal(fields)
	require.NoError(t, err)
	withLogs := regress(t, "house:random", oneRecord(t, dir), "--name", "random", "--wait", "1m")
	require.Equal(t, withLogs.counts, regress(t, "house:random", writeRecord(t, public), "--name", "random", "--wait", "1m").counts)
}

// The requests that follow from the replay are exactly the logged ones.
func TestRebuiltRequests(t *testing.T) {
	text, err := os.ReadFile(oneRecord(t, playRecords(t, "house:greedy", "house:greedy", "house:random", "house:random", "-n", "1", "--seats", "fixed")))
	require.NoError(t, err)
	logged, err := readPast(text)
	require.NoError(t, err)
	require.Len(t, logged.logs, 4)
	rebuilt, err := readPast(text)
	require.NoError(t, err)
	rebuilt.logs = nil
	for seat := range 4 {
		want, err := logged.requests(seat)
		require.NoError(t, err)
		got, err := rebuilt.requests(seat)
		require.NoError(t, err)
		require.NotEmpty(t, want)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, string(want[i].frame), string(got[i].frame))
		}
	}
}

// A bot that repeats the recorded answers, but writes them differently: with spaces, the
// fields in another order, no talk, unknown fields, and after answers to earlier
// decisions.
func TestRegressComparesMoves(t *testing.T) {
	text := sampleRecords(t, 1)[0]
	p, err := readPast(text)
	require.NoError(t, err)
	answers := recordedAnswers(p.events)
	talk := 0
	requests, err := p.requests(0)
	require.NoError(t, err)
	for _, q := range requests {
		if strings.Contains(string(q.Played), `"talk"`) {
			talk++
		}
	}
	require.Positive(t, talk)
	previous := ""
	bot := scriptedBot(t, func(matchID string, id int, _ []byte) []string {
		if matchID != p.started.MatchID {
			return nil
		}
		var answer struct{ Action map[string]any }
		_ = json.Unmarshal(answers[id].frame, &answer) // the recorded answers are valid
		delete(answer.Action, "talk")
		answer.Action["unknown"] = true
		action, _ := json.MarshalIndent(answer.Action, " ", "\t")
		now := fmt.Sprintf(`{"action": %s, "id": %d}`, action, id)
		early := previous
		previous = now
		if early == "" {
			return []string{now}
		}
		return []string{early, now}
	})
	r := regress(t, bot, writeRecord(t, text), "--seat", "0", "--wait", "1m")
	require.Equal(t, counts{Requests: len(requests), Same: len(requests), Talk: talk}, r.counts)
}

// sampleRequests yields the requests of 20 sample matches, each with a function that
// compares an answer with the recorded one.
func sampleRequests(t testing.TB) iter.Seq2[recorded, func(reply) verdict] {
	return func(yield func(recorded, func(reply) verdict) bool) {
		for _, text := range sampleRecords(t, 20) {
			p, err := readPast(text)
			require.NoError(t, err)
			for seat := range p.started.Seats {
				requests, err := p.requests(seat)
				require.NoError(t, err)
				for _, q := range requests {
					if !yield(q, func(r reply) verdict { return q.compare(p, seat, r).Verdict }) {
						return
					}
				}
			}
		}
	}
}

// Two roads are the same move in either order, if both orders are legal.
func TestSameMoveInAnotherOrder(t *testing.T) {
	for q, compare := range sampleRequests(t) {
		then, err := match.ReadAction(q.owed.Kind, q.Played)
		require.NoError(t, err)
		edges := then.Action.Edges
		then.Action.Edges = [2]uint8{edges[1], edges[0]}
		frame := fmt.Appendf(nil, `{"id":%d,"action":%s}`, q.ID, match.ActionJSON(then.Action))
		if then.Action.Type != game.PlayRoadworks || edges[1] > 71 {
			continue
		}
		if _, err := q.state.Judge(q.owed, frame); err != nil {
			continue
		}
		require.Equal(t, same, compare(reply{frame: frame}))
		return
	}
	t.Fatal("nobody played roadworks")
}

// Other moves are different, and worse answers illegal or late. The list links each of
// them, and --max-different fails.
func TestRegressFindsDifferences(t *testing.T) {
	text := sampleRecords(t, 1)[0]
	file := writeRecord(t, text)
	p, err := readPast(text)
	require.NoError(t, err)
	requests, err := p.requests(1)
	require.NoError(t, err)
	answers := recordedAnswers(p.events)
	// An illegal, a malformed and no answer, then the same ones; at one of the last turns,
	// another move.
	last := requests[len(requests)-1]
	for _, q := range requests {
		if q.Kind == "turn" && !strings.Contains(string(q.Played), "end_turn") {
			last = q
		}
	}
	end := fmt.Sprintf(`{"id":%d,"action":{"type":"end_turn"}}`, last.ID)
	_, err = last.state.Judge(last.owed, []byte(end))
	require.NoError(t, err)
	var answersAll atomic.Bool
	bot := scriptedBot(t, func(_ string, id int, _ []byte) []string {
		switch id {
		case requests[0].ID:
			return []string{fmt.Sprintf(`{"id":%d,"action":{"settlement":0,"road":71}}`, id)}
		case requests[1].ID:
			return []string{`{"id":`}
		case requests[2].ID:
			if !answersAll.Load() {
				return []string{}
			}
		case last.ID:
			return []string{end}
		}
		return []string{string(answers[id].frame)}
	})
	args := []string{bot, file, "--seat", "1", "--viewer", "http://127.0.0.1:5000/"}
	r := regress(t, append(args, "--wait", "10s")...) // so long that only the withheld answer is late
	require.Equal(t, counts{Requests: len(requests), Same: len(requests) - 4, Different: 1, Illegal: 2, Late: 1}, r.counts)
	require.Len(t, r.Differences, 4)
	require.Contains(t, r.Differences[0].Reason, "road")
	require.Contains(t, r.Differences[1].Reason, "malformed")
	require.Equal(t, "no answer within 10s", r.Differences[2].Reason)
	require.JSONEq(t, `{"type":"end_turn"}`, string(r.Differences[3].Now))
	require.Equal(t, fmt.Sprintf("http://127.0.0.1:5000/watch/%s#%d", p.started.MatchID, last.Seq), r.Differences[3].Link)

	answersAll.Store(true)
	args = append(args, "--wait", "1m", "--max-different")
	_, err = callCommand(t.Context(), append([]string{"regress"}, append(args, "3")...)...)
	require.NoError(t, err)
	_, err = callCommand(t.Context(), append([]string{"regress"}, append(args, "100%")...)...)
	require.NoError(t, err)
	out, err := callCommand(t.Context(), append([]string{"regress"}, append(args, "2")...)...)
	require.EqualError(t, err, fmt.Sprintf("--max-different 2: 3 of %d answers are not the same", len(requests)))
	require.Regexp(t, `(?m)^kind +requests +same +different +illegal +late$`, out)
	require.Regexp(t, fmt.Sprintf(`(?m)^all +%d +%d +1 +2 +0$`, len(requests), len(requests)-3), out)
	require.Contains(t, out, fmt.Sprintf("\ndifferent: decision %d (turn), turn %d, http://127.0.0.1:5000/watch/%s#%d\n  then  %s\n  now   {\"type\":\"end_turn\"}\n", last.ID, last.Request.View.Turn, p.started.MatchID, last.Seq, last.Played))
	_, err = callCommand(t.Context(), append([]string{"regress"}, append(args, "0.1%")...)...)
	require.ErrorContains(t, err, "--max-different 0.1%: 3 of ")
}

// A recorded failure is the same only if the bot fails with the same text. A good answer
// is different then.
func TestRegressOfStrikes(t *testing.T) {
	for q, compare := range sampleRequests(t) {
		if q.Outcome != "illegal" {
			continue
		}
		require.Equal(t, same, compare(reply{frame: []byte(*q.Answer)}))
		require.Equal(t, illegal, compare(reply{frame: []byte(" " + *q.Answer)}))
		require.Equal(t, different, compare(reply{frame: fmt.Appendf(nil, `{"id":%d,"action":%s}`, q.ID, q.Played)}))
		return
	}
	t.Fatal("nobody gave an illegal answer")
}

// A bot that dies is an error that names the decision.
func TestRegressOfABotThatDies(t *testing.T) {
	text := sampleRecords(t, 1)[0]
	p, err := readPast(text)
	require.NoError(t, err)
	requests, err := p.requests(0)
	require.NoError(t, err)
	answers := recordedAnswers(p.events)
	file := writeRecord(t, text)
	var asked atomic.Int64
	bot := scriptedBot(t, func(_ string, id int, _ []byte) []string {
		if asked.Add(1) == 3 {
			return nil
		}
		return []string{string(answers[id].frame)}
	})
	_, err = callCommand(t.Context(), "regress", bot, file, "--seat", "0")
	require.EqualError(t, err, fmt.Sprintf("bot %q, match %s, decision %d: closed by the bot with code 1001 \"had enough\"", bot, p.started.MatchID, requests[2].ID))

	dies := botCommand(t, dieAt+"=1")
	_, err = callCommand(t.Context(), "regress", dies, file, "--seat", "0")
	require.ErrorContains(t, err, "match "+p.started.MatchID+": connect: ")
	require.ErrorContains(t, err, "; it printed nothing")
}

func TestRegressRejectsWrongArguments(t *testing.T) {
	text := sampleRecords(t, 1)[0]
	file := writeRecord(t, text)
	p, err := readPast(text)
	require.NoError(t, err)
	dir := playRecords(t, "house:random", "house:random", "house:random", "-n", "1", "--seats", "fixed")
	local, err := os.ReadFile(oneRecord(t, dir))
	require.NoError(t, err)
	for want, args := range map[string][]string{
		"has 0 decision logs, so it does not say which bot is yours": {"house:greedy", file},
		`the bots are "random", "random 2", "random 3"`:              {"house:greedy", dir},
		`--name "bob": no bot of match ` + p.started.MatchID:         {"house:greedy", file, "--name", "bob"},
		"--seat 4: match ":                                                   {"house:greedy", file, "--seat", "4"},
		"--name cannot be combined with --seat":                              {"house:greedy", file, "--seat", "1", "--name", "a"},
		`--max-different "-1": want a number`:                                {"house:greedy", file, "--seat", "1", "--max-different=-1"},
		`--max-different "101%": want a number`:                              {"house:greedy", file, "--seat", "1", "--max-different", "101%"},
		"contains no records of matches":                                     {"house:greedy", t.TempDir(), "--seat", "1"},
		"neither a file, nor a folder, nor the id or the address of a match": {"house:greedy", filepath.Join(dir, "nothing"), "--seat", "1"},
		"not a record of a match":                                            {"house:greedy", writeRecord(t, []byte("{}")), "--seat", "1"},
		"does not verify: ":                                                  {"house:greedy", writeRecord(t, []byte(strings.Replace(string(local), `"default":false`, `"default":true`, 1))), "--seat", "1"},
		"has another request at decision 1":                                  {"house:greedy", writeRecord(t, []byte(strings.Replace(string(local), `"request":{"id":1,`, `"request":{"id":2,`, 1))), "--name", "random"},
		"does not accept connections":                                        {"http://" + logtest.ClosedAddress(t), file, "--seat", "1"},
		"ended (exit status 7) before it listened":                           {"cmd:exit 7; {port}", file, "--seat", "1"},
	} {
		_, err := callCommand(t.Context(), append([]string{"regress"}, args...)...)
		require.ErrorContains(t, err, want)
	}
}

// An interrupted run prints the records that are complete.
func TestInterruptedRegress(t *testing.T) {
	bot := newInterrupter(t)
	dir := playRecords(t, "house:greedy", "house:random", "house:random", "-n", "3")
	out, err := callCommand(bot.next(t, 2), "regress", bot.url, dir, "--name", "greedy", "--parallel", "1")
	require.EqualError(t, err, "stopped after 1 of 3 records")
	require.Contains(t, out, " requests of 1 records to ")
}

func TestMaxDifferentIsAShareOfTheRequests(t *testing.T) {
	for share, want := range map[string]int{"29%": 29, "57 %": 57, "0.5%": 0, "100%": 100, "7": 7, "": 100} {
		limit, err := (&regressCmd{MaxDifferent: share}).limit(100)
		require.NoError(t, err)
		require.Equal(t, want, limit, share)
	}
}

// Records at an arena are named by their address, or by their id and --arena.
func TestRecordsOfAnArena(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	text := sampleRecords(t, 1)[0]
	p, err := readPast(text)
	require.NoError(t, err)
	id := p.started.MatchID
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/matches/"+id && r.URL.Path != "/matches/"+strings.Repeat("0", 8)+id[8:] {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(arena.Close)
	for _, args := range [][]string{{arena.URL + "/matches/" + id}, {arena.URL + "/watch/" + id}, {id, "--arena", arena.URL}} {
		r := regress(t, append([]string{"house:random", "--seat", "0"}, args...)...)
		require.NotEmpty(t, r.Differences)
		require.Equal(t, fmt.Sprintf("%s/watch/%s#%d", arena.URL, id, r.Differences[0].Seq), r.Differences[0].Link)
		f := fork(t, append(args, "--at", "9", "--seat", "0", "--bot", "house:random", "-n", "1", "--seed", "x")...)
		require.Equal(t, id, f.Match)
	}
	_, err = callCommand(t.Context(), "regress", "house:random", "--seat", "0", arena.URL+"/matches/00000000"+id[8:])
	require.ErrorContains(t, err, "the arena returned the record of another match: "+id)
}

// fork and regress find a match by its id in a folder, as arena view does.
func TestRecordsInAFolder(t *testing.T) {
	text := sampleRecords(t, 1)[0]
	p, err := readPast(text)
	require.NoError(t, err)
	id, dir := p.started.MatchID, t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, id+".json"), text, 0o600))
	where := []string{"--at", "9", "--seat", "0", "--bot", "house:random", "-n", "1", "--seed", "x"}
	require.Equal(t, id, fork(t, append([]string{id, "--in", dir}, where...)...).Match)
	require.Equal(t, id, fork(t, append([]string{dir}, where...)...).Match)
	require.NotEmpty(t, regress(t, "house:random", "--seat", "0", id, "--in", dir).Differences)
	_, err = callCommand(t.Context(), "regress", "house:random", "--seat", "0", dir, "--in", dir)
	require.ErrorContains(t, err, "--in needs the id of a match")
	_, err = callCommand(t.Context(), append([]string{"fork", dir, "--arena", "http://127.0.0.1:1"}, where...)...)
	require.ErrorContains(t, err, "--arena needs the id of a match")
}

// An error in one record does not lose the results of the others.
func TestRegressKeepsResults(t *testing.T) {
	good, bad := writeRecord(t, sampleRecords(t, 1)[0]), writeRecord(t, []byte("{}"))
	out, err := callCommand(t.Context(), "regress", "house:random", good, bad, "--seat", "0", "--parallel", "1")
	require.ErrorContains(t, err, "not a record of a match")
	require.Contains(t, out, " requests of 1 records to ")
}

// A timeout is the same as a recorded one.
func TestRegressOfTimeouts(t *testing.T) {
	p, err := readPast(sampleRecords(t, 1)[0])
	require.NoError(t, err)
	requests, err := p.requests(0)
	require.NoError(t, err)
	q, silence, dropped := requests[0], reply{cause: match.CauseDeadline}, match.CauseDropped
	require.Equal(t, late, q.compare(p, 0, silence).Verdict)
	q.Outcome, q.Cause = "timeout", &silence.cause
	require.Equal(t, same, q.compare(p, 0, silence).Verdict)
	q.Cause = &dropped
	require.Equal(t, late, q.compare(p, 0, silence).Verdict)
}

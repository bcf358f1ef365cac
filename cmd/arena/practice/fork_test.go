package practice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/referee"
	"hexarena/cmd/arena/records"
	"hexarena/domain/audit/sample"
	"hexarena/domain/match"
	"hexarena/domain/tournament"
	"hexarena/eventstore/logtest"
)

// sampleRecords returns the records of n completed matches. In every second match, half
// of the bots often fail, so that they get strikes and resign.
func sampleRecords(t testing.TB, n int) (list [][]byte) {
	t.Helper()
	good := sample.New(sample.Options{Chance: 3, Bots: 4, Build: true})
	bad := sample.New(sample.Options{Chance: 5, Bots: 3, Build: true, Mischief: 3})
	for len(list) < n {
		list = append(list, good.Tick()[0], bad.Tick()[0])
	}
	return list[:n]
}

// recordedLine is the line to a bot that sends the recorded answers of a match. If it
// recorded a timeout, it does not answer, or drops the connection.
type recordedLine struct {
	answers map[int]reply
	receive func(frame []byte, cause string)
}

// Send implements referee.Line.
func (l *recordedLine) Send(_ context.Context, frame []byte) error {
	var request struct{ ID int }
	if err := json.Unmarshal(frame, &request); err != nil {
		return err
	}
	r, ok := l.answers[request.ID]
	if !ok {
		return fmt.Errorf("decision %d is not in the record", request.ID)
	}
	if r.cause != match.CauseDeadline {
		l.receive(r.frame, r.cause)
	}
	return nil
}

// Drain implements referee.Line.
func (*recordedLine) Drain(context.Context) {}

// Fault implements referee.Line.
func (*recordedLine) Fault() *match.Fault { return nil }

// Close implements referee.Line.
func (*recordedLine) Close() {}

// recordedAnswers returns the answers of all seats, by decision.
func recordedAnswers(events []match.Event) map[int]reply {
	answers := map[int]reply{}
	for _, e := range events {
		switch e := e.(type) {
		case match.ActionPlayed:
			if !e.Default {
				answers[e.Decision] = reply{frame: fmt.Appendf(nil, `{"id":%d,"action":%s}`, e.Decision, e.Action)}
			}
		case match.AnswerRejected:
			answers[e.Decision] = reply{frame: []byte(e.Answer)}
		case match.DecisionTimedOut:
			answers[e.Decision] = reply{cause: e.Cause}
			if e.Answer != nil {
				answers[e.Decision] = reply{frame: []byte(*e.Answer)}
			}
		}
	}
	return answers
}

// lines returns the public events as text, without the times that the bots took.
func lines(t testing.TB, events []match.Event) (list []string) {
	t.Helper()
	for _, e := range events {
		switch data := e.(type) {
		case match.ActionPlayed:
			data.ElapsedMs = nil
			e = data
		case match.AnswerRejected:
			data.ElapsedMs = 0
			e = data
		case match.DecisionTimedOut:
			data.ElapsedMs, data.Heard = 0, false
			e = data
		}
		if kind, _, _ := match.Publish(e); kind != "" {
			text, err := json.Marshal(e)
			require.NoError(t, err)
			list = append(list, kind+" "+string(text))
		}
	}
	return list
}

// If all seats repeat the recorded answers, a fork with the same chance repeats the
// recorded continuation, event by event: at every 50th event of 20 matches, from another
// first event in each.
func TestForkRepeatsTheRecord(t *testing.T) {
	matches, every := 20, 50
	if raceEnabled {
		matches, every = 2, 400
	}
	forks, strikes := 0, 0
	for n, text := range sampleRecords(t, matches) {
		p, err := readPast(text)
		require.NoError(t, err)
		want := lines(t, p.events)
		answers := recordedAnswers(p.events)
		dial := func(_ context.Context, _ tournament.Match, _ referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
			return &recordedLine{answers, receive}, referee.Accepted{}, nil
		}
		for _, line := range want {
			if strings.HasPrefix(line, "timeout") || strings.HasPrefix(line, "illegal") {
				strikes++
			}
		}
		for at := 1 + 7*n%every; at <= len(p.events); at += every {
			synctest.Test(t, func(t *testing.T) {
				c := forkCmd{At: at, SameChance: true}
				r, err := c.prepare(p)
				require.NoError(t, err)
				require.Less(t, len(r.before), max(at, 2), "the batch contains the event")
				events, err := r.playOn(t.Context(), r.continuation(0), dial)
				require.NoError(t, err)
				got := lines(t, events)
				for i, line := range want[len(r.before):] {
					require.Less(t, i, len(got), "match %s from event %d", p.started.MatchID, at)
					require.Equal(t, line, got[i], "match %s from event %d: event %d", p.started.MatchID, at, len(r.before)+i+1)
				}
				require.Len(t, got, len(want)-len(r.before))
			})
			forks++
		}
	}
	t.Logf("%d forks of %d matches with %d strikes", forks, matches, strikes)
	require.Positive(t, strikes)
}

// writeRecord writes a record into a file.
func writeRecord(t testing.TB, text []byte) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "record.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// playRecords plays matches, and returns the folder with the records.
func playRecords(t testing.TB, args ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	_, err := call(t.Context(), append(args, "--out", dir)...)
	require.NoError(t, err)
	return dir
}

// oneRecord returns a record in a folder.
func oneRecord(t testing.TB, dir string) (file string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, records.MatchFolder, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files[0]
}

func fork(t testing.TB, args ...string) forkReport {
	t.Helper()
	out, err := callCommand(t.Context(), append(append([]string{"fork"}, args...), "--json")...)
	require.NoError(t, err)
	var r forkReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	r.Seconds = 0
	for i := range r.Seats {
		r.Seats[i].Bot.LatencyP50Ms, r.Seats[i].Bot.LatencyP99Ms = 0, 0
	}
	return r
}

// From any event on, the same bots with the same chance repeat the match, because they
// get the earlier requests first. With fresh chance, the seed determines the
// continuations.
func TestForkOfHouseBots(t *testing.T) {
	file := oneRecord(t, playRecords(t, "house:greedy", "house:random", "house:random", "-n", "1", "--seats", "fixed", "--seed", "x"))
	for _, at := range []string{"1", "150", "250"} {
		r := fork(t, file, "--at", at, "--seat", "0", "--bot", "house:greedy", "--others", "house:random", "--same-chance", "--decision", "1m")
		require.Equal(t, []int{1, 1}, []int{r.Planned, r.Continuations})
		require.NotEmpty(t, r.Owed)
		for _, s := range r.Seats {
			require.InDelta(t, float64(*s.Then.Placement), s.Bot.MeanPlacement, 1e-9)
			require.InDelta(t, float64(*s.Then.Points), s.Bot.MeanPoints, 1e-9)
			require.Empty(t, s.Bot.Strikes)
			require.Equal(t, s.Seat == 0, s.Forked)
			require.Nil(t, s.PlacementLow)
		}
	}

	bots := []string{file, "--at", "1", "--seat", "0", "--bot", "house:greedy", "--others", "house:random", "--decision", "1m"}
	fresh := fork(t, append(bots, "-n", "3", "--seed", "a", "--parallel", "1")...)
	require.Equal(t, 3, fresh.Continuations)
	require.Equal(t, fresh, fork(t, append(bots, "-n", "3", "--seed", "a", "--parallel", "3")...))
	require.NotEqual(t, fresh.Seats, fork(t, append(bots, "-n", "3", "--seed", "b")...).Seats)
	require.LessOrEqual(t, *fresh.Seats[0].PlacementLow, fresh.Seats[0].Bot.MeanPlacement)
	require.GreaterOrEqual(t, *fresh.Seats[0].PointsHigh, fresh.Seats[0].Bot.MeanPoints)

	out, err := callCommand(t.Context(), "fork", file, "--at", "200", "--seat", "1", "--bot", "house:greedy", "-n", "2", "--seed", "a")
	require.NoError(t, err)
	require.Regexp(t, `(?s)^match [0-9a-f-]+ from event \d+, turn \d+; first to decide: seat \d \(\w+\)\n2 continuations with fresh chance, seed a \(.*\n\nseat +then +place +points +now +wins +95 % +place +95 % +points +95 %\n0 +greedy +\d .*\n1\* +random +\d +\d+ +greedy 2 .*\n2 +random 2 `, out)
}

// A bot first gets the requests that its seat got before the fork, with the id of the
// continuation, and then the new ones.
func TestForkRemindsTheBots(t *testing.T) {
	text := sampleRecords(t, 1)[0]
	p, err := readPast(text)
	require.NoError(t, err)
	requests, err := p.requests(2)
	require.NoError(t, err)
	at := requests[20]
	var want []string // the same requests, with more time for a busy machine
	for _, q := range requests[:21] {
		require.Contains(t, string(q.frame), `"deadlineMs":5000,`)
		want = append(want, strings.Replace(string(q.frame), `"deadlineMs":5000,`, `"deadlineMs":60000,`, 1))
	}
	var mu sync.Mutex
	var got []string
	bot := scriptedBot(t, func(id string, _ int, frame []byte) []string {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.Replace(string(frame), id, p.started.MatchID, 1))
		if len(got) > 21 {
			return nil
		}
		return []string{string(requests[len(got)-1].answer())}
	})
	r := fork(t, writeRecord(t, text), "--at", fmt.Sprint(at.Seq), "--seat", "2", "--bot", bot, "-n", "1", "--decision", "1m")
	require.Equal(t, forkOwed{2, at.Kind, at.ID}, r.Owed[slices.IndexFunc(r.Owed, func(d forkOwed) bool { return d.Seat == 2 })])
	require.Equal(t, want, got[:21])
	require.Equal(t, 3, r.Seats[2].Bot.StrikeCount(), "it closes the connection at each of the later requests")
}

// The method answer() returns the recorded answer.
func (q *recorded) answer() []byte {
	return fmt.Appendf(nil, `{"id":%d,"action":%s}`, q.ID, q.Played)
}

// A program that dies gets strikes, and the result names it. Each strike comes only at the
// end of a decision. By then, the referee must have seen the first program die and have
// dialed again.
func TestForkOfABotThatDies(t *testing.T) {
	t.Parallel()
	file := oneRecord(t, playRecords(t, "house:greedy", "house:random", "house:random", "-n", "1", "--seats", "fixed", "--seed", "x"))
	r := fork(t, file, "--at", "100", "--seat", "2", "--bot", botCommand(t, dieAt+"=1"), "-n", "1", "--decision", "3s")
	require.Positive(t, r.Seats[2].Bot.Restarts)
	require.Equal(t, match.MaxStrikes, r.Seats[2].Bot.StrikeCount())
}

// An interrupted fork prints the continuations that have ended.
func TestInterruptedFork(t *testing.T) {
	bot := newInterrupter(t)
	file := oneRecord(t, playRecords(t, "house:greedy", "house:random", "house:random", "-n", "1", "--seats", "fixed"))
	out, err := callCommand(bot.next(t, 3), "fork", file, "--at", "9", "--seat", "0", "--bot", bot.url, "--parallel", "1", "-n", "5", "--decision", "1m")
	require.EqualError(t, err, "stopped after 2 of 5 continuations")
	require.Contains(t, out, "2 continuations with fresh chance")
}

// An aborted match can be played on from its end.
func TestForkOfAnAbortedMatch(t *testing.T) {
	text := sample.New(sample.Options{Chance: 1, Bots: 3, Abort: 1}).Tick()[0]
	p, err := readPast(text)
	require.NoError(t, err)
	require.True(t, p.aborted)
	file, last := writeRecord(t, text), len(p.events)
	r := fork(t, file, "--at", fmt.Sprint(last+1), "--seat", "0", "--bot", "house:greedy", "-n", "2")
	require.Equal(t, []int{last + 1, 2}, []int{r.From, r.Continuations})
	require.Nil(t, r.Seats[0].Then.Placement)
	_, err = callCommand(t.Context(), "fork", file, "--at", fmt.Sprint(last+2), "--seat", "0", "--bot", "house:greedy")
	require.ErrorContains(t, err, fmt.Sprintf("has the events 1 to %d", last))
}

func TestForkRejectsWrongArguments(t *testing.T) {
	text := sampleRecords(t, 1)[0]
	file := writeRecord(t, text)
	p, err := readPast(text)
	require.NoError(t, err)
	dice := slices.IndexFunc(p.events, func(e match.Event) bool { _, ok := e.(match.DiceRolled); return ok })
	roll := p.events[dice].(match.DiceRolled).Dice
	forged := strings.Replace(string(text), fmt.Sprintf(`"dice":[%d,%d]`, roll[0], roll[1]), fmt.Sprintf(`"dice":[%d,%d]`, 7-roll[0], roll[1]), 1)
	running := `{"id":"m","mode":"standard","status":"running","players":[{"seat":0,"botId":"a"},{"seat":1,"botId":"b"},{"seat":2,"botId":"c"}],"startedAt":"2026-01-01T00:00:00.000Z","seed":null,"replay":[]}`
	good := []string{"--at", "9", "--seat", "0", "--bot", "house:greedy"}
	for want, args := range map[string][]string{
		fmt.Sprintf("--at 99999: match %s has the events 1 to %d", p.started.MatchID, len(p.events)): {file, "--at", "99999", "--seat", "0", "--bot", "house:greedy"},
		"--at must be above 0":                             {file, "--at", "0", "--seat", "0", "--bot", "house:greedy"},
		"has the seats 0 to 3, and no seat 4":              {file, "--at", "9", "--seat", "4", "--bot", "house:greedy"},
		"--seat 0 is named twice":                          {file, "--at", "9", "--seat", "0", "--bot", "house:greedy", "--seat", "0", "--bot", "house:random"},
		"each --seat needs a --bot":                        {file, "--at", "9", "--seat", "0", "--seat", "1", "--bot", "house:random"},
		"no house bot has this name":                       append(good, file, "--others", "house:clever"),
		"there are 3 other seats, so name 1 or 3 bots":     append(good, file, "--others", "house:greedy", "--others", "house:greedy"),
		"is listed twice":                                  append(good, file, "--others", "http://127.0.0.1:1"),
		"--seed cannot be combined with --same-chance":     append(good, file, "--seed", "x", "--same-chance"),
		"does not accept connections":                      {file, "--at", "9", "--seat", "0", "--bot", "http://" + logtest.ClosedAddress(t)},
		"ended (exit status 7) before it listened":         {file, "--at", "9", "--seat", "0", "--bot", "cmd:exit 7; {port}"},
		"is neither a file, nor a folder, nor the id":      append(good, "/nothing"),
		"is not the address of a match":                    append(good, "http://127.0.0.1:1/bots"),
		"connection refused":                               append(good, "http://"+logtest.ClosedAddress(t)+"/matches/"+p.started.MatchID),
		"not a record of a match":                          append(good, writeRecord(t, []byte("{}"))),
		"contains no record":                               append(good, writeRecord(t, nil)),
		"contains several records":                         append(good, writeRecord(t, slices.Concat(text, []byte("\n"), text))),
		"does not verify: seq " + fmt.Sprint(dice+1):       append(good, writeRecord(t, []byte(forged))),
		"match m is still running; its record is complete": append(good, writeRecord(t, []byte(running))),
	} {
		_, err := callCommand(t.Context(), append([]string{"fork"}, args...)...)
		require.ErrorContains(t, err, want)
	}
}

// A seat that has resigned is not asked any more.
func TestForkOfAResignedSeat(t *testing.T) {
	for _, text := range sampleRecords(t, 20) {
		p, err := readPast(text)
		require.NoError(t, err)
		i := slices.IndexFunc(p.events, func(e match.Event) bool { _, ok := e.(match.SeatResigned); return ok })
		if i < 0 {
			continue
		}
		seat := p.events[i].(match.SeatResigned).Seat
		c := forkCmd{At: len(p.events), Seat: []int{seat}, Bot: []string{"house:greedy"}}
		_, err = c.prepare(p)
		require.ErrorContains(t, err, fmt.Sprintf("--seat %d: the seat had resigned before event %d; choose an earlier event", seat, len(p.events)))
		c.At = i + 1
		_, err = c.prepare(p)
		require.NoError(t, err, "the batch in which it resigns can be played again")
		return
	}
	require.NoError(t, errors.New("no seat resigned"))
}

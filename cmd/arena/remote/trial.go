package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type botsTry struct{ namedBot }

// errTrialFailed makes the program exit with status 1 after it has printed the result
// of a trial.
var errTrialFailed = errors.New("the bot got strikes in the trial, or the trial was not played to the end")

// Run runs `arena bots try`.
func (c botsTry) Run(ctx context.Context, s *session, k *kong.Kong) error {
	id, err := s.botID(ctx, c.Bot)
	if err != nil {
		return err
	}
	ordered, err := ask[rest.Trial](ctx, s, post(owner.BotsWrite, "/bots/"+id+"/trial", nil))
	if err != nil {
		return err
	}
	f := trialFollower{eventStream: eventStream{session: s, path: "/bots/" + id + "/trials/" + ordered.value.ID + "/stream", errors: k.Stderr}}
	result, err := f.follow(ctx)
	if err != nil {
		return err
	}
	if err := show(s, result, func(w io.Writer, t rest.Trial) { printTrial(w, t, s.base) }); err != nil {
		return err
	}
	if t := result.value; *t.Outcome != owner.TrialCompleted || len(t.Strikes) > 0 {
		return errTrialFailed
	}
	return nil
}

// trialFollower follows a trial to its end.
type trialFollower struct {
	eventStream
	status string // the latest status that was printed
	result answer[rest.Trial]
}

// errTrialEnded stops the reading of a trial's stream.
var errTrialEnded = errors.New("the trial has ended")

// follow prints the steps of the trial and returns its result. If the stream breaks,
// for example because the arena restarts, it tries again until ctx ends.
func (f *trialFollower) follow(ctx context.Context) (answer[rest.Trial], error) {
	wait := firstRetry
	for {
		before := f.last
		err := f.read(ctx, f.step)
		if errors.Is(err, errTrialEnded) {
			return f.result, nil
		}
		if f.last != before {
			wait = firstRetry
		}
		if err := cmp.Or(f.pause(ctx, "the stream of the trial ended", err, &wait), ctx.Err()); err != nil {
			return f.result, err
		}
	}
}

// step handles one record. It prints each step, unless the user wants JSON.
func (f *trialFollower) step(_ context.Context, r record) error {
	switch r.event {
	case "trial":
		t, err := readRecord[rest.Trial](r)
		if err != nil || t.Status == f.status {
			return err
		}
		if f.status = t.Status; t.Status == rest.TrialWaiting {
			f.say("ordered the trial %s", t.ID)
		} else {
			f.say("the game has started; the bot has seat %d", *t.Seat)
		}
	case "decision":
		d, err := readRecord[rest.TrialDecision](r)
		if err != nil {
			return err
		}
		f.last = r.id
		f.say("%s", strings.TrimSpace(fmt.Sprintf("%-8s %-8s %6d ms  %s", d.Kind, d.Outcome, d.ElapsedMs, reason(d))))
	case "end":
		t, err := readRecord[rest.Trial](r)
		f.result = answer[rest.Trial]{value: t}
		f.result.Body = []byte(r.data)
		return cmp.Or(err, errTrialEnded)
	}
	return nil
}

func readRecord[T any](r record) (value T, err error) {
	if err := json.Unmarshal([]byte(r.data), &value); err != nil {
		return value, &fatal{fmt.Errorf("this program cannot read the arena's response: %w", err)}
	}
	return value, nil
}

// reason says in one line why a decision failed.
func reason(d rest.TrialDecision) string {
	var text string
	switch {
	case d.Message != nil:
		text = client.OneLine(*d.Message)
	case d.Code != nil:
		text = *d.Code
	default:
		return ""
	}
	text = fmt.Sprintf("strike %d: %s", d.Strikes, text)
	if d.Resigned {
		text += "; the seat resigned"
	}
	return text
}

// trialOutcomes explains the outcomes of a trial whose game was not played to the end.
var trialOutcomes = map[string]string{
	owner.TrialWallClock: "the game was aborted, because its wall clock ran out",
	owner.TrialOperator:  "an operator ended the game",
	owner.TrialInMatch:   "the trial did not start, because the bot was still in a match",
	owner.TrialDraining:  "the trial did not start, because the operator is stopping the arena; try again later",
	owner.TrialExpired:   "the arena could not play the trial in time; try again later",
}

func printTrial(w io.Writer, t rest.Trial, base string) {
	text, ok := trialOutcomes[*t.Outcome]
	if !ok {
		text = fmt.Sprintf("the game ended after %d turns", t.Turns)
	}
	fmt.Fprintln(w, text)
	if t.Seat == nil {
		return
	}
	slices.SortStableFunc(t.Players, func(a, b rest.TrialPlayer) int { return cmp.Compare(placeOf(a), placeOf(b)) })
	for _, p := range t.Players {
		place := ""
		if n := placeOf(p); n > 0 {
			place = strconv.Itoa(n) + "."
		}
		fmt.Fprintf(w, "%s\t%s\t%d points\n", place, client.OneLine(p.BotName), p.Score)
	}
	for _, k := range t.Decisions {
		fmt.Fprintf(w, "%s\t%d played\t%d timeouts\t%d illegal\n", k.Kind, k.Played, k.Timeouts, k.Illegal)
	}
	if l := t.Latency; l != nil {
		fmt.Fprintf(w, "latency\tp50 %d ms\tp95 %d ms\tmax %d ms\n", l.P50Ms, l.P95Ms, l.MaxMs)
	}
	for _, d := range t.Strikes {
		fmt.Fprintf(w, "event %d\t%s\t%s\t%s\n", d.Seq, d.Kind, d.Outcome, reason(d))
	}
	fmt.Fprintf(w, "replay\t%s/dashboard/bots/%s/trials/%s\n", base, t.BotID, t.ID)
}

// placeOf returns a player's placement, or 0 if the game has no placements.
func placeOf(p rest.TrialPlayer) int {
	if p.Placement == nil {
		return 0
	}
	return *p.Placement
}

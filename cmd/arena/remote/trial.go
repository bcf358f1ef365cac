package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

type botsTry struct{ namedBot }

// errTrialFailed makes the program exit with status 1 after it has printed the result
// of a trial.
var errTrialFailed = errors.New("the bot did not play the trial without strikes")

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
	f := follower{session: s, path: "/bots/" + id + "/trials/" + ordered.value.ID, errors: k.Stderr}
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

// follower follows a trial to its end.
type follower struct {
	*session
	path   string // of the trial
	errors io.Writer
	last   int // seq of the last decision that was printed
}

// follow prints the steps of the trial and returns its result. If the stream breaks,
// for example because the arena restarts, it tries again until ctx ends.
func (f *follower) follow(ctx context.Context) (result answer[rest.Trial], err error) {
	for {
		result.Body, err = f.readStream(ctx)
		if err == nil {
			return result, json.Unmarshal(result.Body, &result.value)
		}
		var refusal *client.Refusal
		if errors.As(err, &refusal) && refusal.Status != http.StatusServiceUnavailable {
			f.showRefusal(refusal)
			return result, err
		}
		fmt.Fprintf(f.errors, "the stream of the trial broke; trying again: %v\n", err)
		if err := eventstore.Sleep(ctx, pollInterval); err != nil {
			return result, err
		}
	}
}

// readStream prints the steps of one stream, and returns the data of its end.
func (f *follower) readStream(ctx context.Context) (end []byte, err error) {
	credentials, err := f.credentials(owner.BotsRead)
	if err != nil {
		return nil, err
	}
	credentials.Base = f.base
	c, err := client.New(credentials)
	if err != nil {
		return nil, err
	}
	response, err := c.Open(ctx, http.MethodGet, f.path+"/stream", nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	lines, event := bufio.NewReader(response.Body), ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.base, err)
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = strings.TrimSpace(name)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		if event == "end" {
			return []byte(strings.TrimSpace(data)), nil
		}
		if err := f.step(event, []byte(data)); err != nil {
			return nil, err
		}
	}
}

// step prints one step, unless the user wants JSON.
func (f *follower) step(event string, data []byte) error {
	switch event {
	case "trial":
		var t rest.Trial
		if err := json.Unmarshal(data, &t); err != nil {
			return fmt.Errorf("this program cannot read the arena's response: %w", err)
		}
		if t.Status == rest.TrialWaiting {
			f.say("the trial %s is ordered", t.ID)
		} else if f.last == 0 {
			f.say("the game has started; the bot has seat %d", *t.Seat)
		}
	case "decision":
		var d rest.TrialDecision
		if err := json.Unmarshal(data, &d); err != nil {
			return fmt.Errorf("this program cannot read the arena's response: %w", err)
		}
		if d.Seq > f.last {
			f.last = d.Seq
			f.say("%s", strings.TrimSpace(fmt.Sprintf("%-8s %-8s %6d ms  %s", d.Kind, d.Outcome, d.ElapsedMs, reason(d))))
		}
	}
	return nil
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

// trialOutcomes explains the outcomes of a trial whose game was not played to its end.
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
	for _, p := range t.Players {
		place := ""
		if p.Placement != nil {
			place = fmt.Sprintf("%d.", *p.Placement)
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

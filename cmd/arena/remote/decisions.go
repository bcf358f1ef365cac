package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/projections/frames"
)

type botsLog struct {
	namedBot
	Match  string `arg:"" optional:"" help:"The match, by its id (default: the bot's newest match)."`
	Failed bool   `help:"Show only decisions that failed."`
}

// Run implements `arena bots log`.
func (c botsLog) Run(ctx context.Context, s *session) error {
	id, err := s.botID(ctx, c.Bot)
	if err != nil {
		return err
	}
	matchID := c.Match
	if matchID == "" {
		if matchID, err = s.newestMatch(ctx, id, c.Bot); err != nil {
			return err
		}
	}
	log, err := ask[decisionList](ctx, s, get(owner.BotsRead, "/bots/"+id+"/matches/"+url.PathEscape(matchID)+"/decisions"))
	if err != nil {
		return err
	}
	if c.Failed {
		if err := keepFailed(&log); err != nil {
			return err
		}
	}
	none := "no decisions"
	if c.Failed {
		none = "no strikes"
	}
	return show(s, log, func(w io.Writer, list decisionList) { s.printLog(w, matchID, list, none) })
}

// newestMatch returns the id of the newest match of a bot.
func (s *session) newestMatch(ctx context.Context, id, name string) (string, error) {
	newest, err := ask[rest.Matches](ctx, s, get("", "/matches?limit=1&bot="+id))
	if err != nil {
		return "", err
	}
	if len(newest.value.Matches) == 0 {
		return "", fmt.Errorf("the bot %s has not played a match yet", client.OneLine(name))
	}
	return newest.value.Matches[0].ID, nil
}

// decisionList is rest.Decisions. It also keeps each decision as it was received,
// with any fields that this program does not know.
type decisionList struct {
	Decisions []received `json:"decisions"`
}

type received struct {
	rest.Decision
	raw json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *received) UnmarshalJSON(b []byte) error {
	d.raw = slices.Clone(b)
	return json.Unmarshal(b, &d.Decision)
}

// MarshalJSON implements json.Marshaler.
func (d received) MarshalJSON() ([]byte, error) { return d.raw, nil }

// The method failed() reports whether a decision caused a strike.
func (d received) failed() bool { return d.Outcome != frames.Played }

// keepFailed removes the played decisions from a response.
func keepFailed(log *answer[decisionList]) (err error) {
	log.value.Decisions = slices.DeleteFunc(log.value.Decisions, func(d received) bool { return !d.failed() })
	log.Body, err = json.Marshal(log.value)
	return err
}

// printLog prints one line for each decision, and then a paragraph for each strike.
// The newest match may have no decision yet, so an empty list prints a line with none.
func (s *session) printLog(w io.Writer, matchID string, list decisionList, none string) {
	if len(list.Decisions) == 0 {
		fmt.Fprintf(w, "%s in the match %s so far\n", none, client.OneLine(matchID))
	}
	for _, d := range list.Decisions {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", d.ID, d.Kind, d.Outcome, d.Took(), client.OneLine(string(d.Played)))
	}
	for _, d := range list.Decisions {
		if d.failed() {
			fmt.Fprintf(w, "\nDecision %d (%s), strike %d: %s: %s\n", d.ID, d.Kind, d.Strikes, d.Code(), client.OneLine(d.Why()))
			printStrike(w, d.Decision)
			fmt.Fprintf(w, "  %s/watch/%s#%d\n", s.base, client.OneLine(matchID), d.Seq)
		}
	}
}

// printStrike prints what the page of the log shows for a strike.
func printStrike(w io.Writer, d rest.Decision) {
	switch {
	case d.Answer != nil:
		fmt.Fprintf(w, "  The bot answered: %s\n", client.OneLine(*d.Answer))
	case d.Late != nil:
		fmt.Fprintf(w, "  The bot answered after the deadline: %s\n", client.OneLine(d.Late.Answer))
	default:
		fmt.Fprintln(w, "  The bot sent no answer.")
	}
	fmt.Fprintf(w, "  The arena played %s.\n", client.OneLine(string(d.Played)))
	if d.Resigned {
		fmt.Fprintln(w, "  This was the third strike, so the bot resigned.")
	}
	if d.Request != nil {
		fmt.Fprintf(w, "  The bot had %s in its hand.\n", d.Request.View.Hand.Words())
		fmt.Fprintf(w, "  The whole request: %s\n", client.OneLine(string(d.Request.AppendJSON(nil))))
	}
}

type botsHistory struct {
	namedBot
	Aborted bool `help:"List the aborted matches instead of the completed matches."`
}

// Run implements `arena bots history`.
func (c botsHistory) Run(ctx context.Context, s *session) error {
	id, err := s.botID(ctx, c.Bot)
	if err != nil {
		return err
	}
	path := "/bots/" + id + "/history"
	if c.Aborted {
		path += "?aborted=true"
	}
	err = askAndShow(ctx, s, get("", path), printHistory)
	if refusal := new(client.Refusal); errors.As(err, &refusal) && refusal.Status == http.StatusNotFound {
		return fmt.Errorf("%w: the bot %s does not exist, or has not played yet", err, client.OneLine(c.Bot))
	}
	return err
}

// printHistory prints one line for each match, the oldest first.
func printHistory(w io.Writer, h rest.BotHistory) {
	for _, p := range h.Points {
		result, rating := "aborted: "+client.OneLine(p.Reason), ""
		if p.Placement != nil && p.Rating != nil {
			result, rating = "place "+strconv.Itoa(*p.Placement), fmt.Sprintf("%.1f", *p.Rating)
		}
		if p.RatingBefore != nil && p.RatingAfter != nil {
			rating += fmt.Sprintf(" (%+.1f)", *p.RatingAfter-*p.RatingBefore)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", minuteOf(p.EndedAt), client.OneLine(p.MatchID), result, rating, p.Mark())
	}
}

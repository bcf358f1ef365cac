package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

// Download holds the flags of commands that read a match from an arena.
type Download struct {
	Arena string `placeholder:"URL" help:"The arena that has the match, if you name it by its id (default: the arena you last signed in to, else http://127.0.0.1:8080)."`
	Key   string `placeholder:"FILE" help:"Private key to sign with, in PEM (default: the key of the last \"keys add\")."`
	KeyID string `placeholder:"ID" help:"The key's id at the arena (default: the remembered one)."`
}

// Record reads the record of an ended match in the shape of rest.LocalMatch. It contains
// the decision logs that the caller may see. If there are none, Record says so on the
// standard error output.
func (d Download) Record(ctx context.Context, k *kong.Kong, id string) ([]byte, error) {
	s, err := signed{target{Arena: d.Arena}, d.Key, d.KeyID}.ProvideSession(k)
	if err != nil {
		return nil, err
	}
	path := "/matches/" + url.PathEscape(id)
	a, err := s.call(ctx, get("", path))
	if err != nil {
		return nil, fmt.Errorf("match %s: %w", client.OneLine(id), err)
	}
	var head struct {
		ID      string             `json:"id"`
		Players []rest.MatchPlayer `json:"players"`
	}
	record := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(a.Body, &head), json.Unmarshal(a.Body, &record)); err != nil {
		return nil, fmt.Errorf("this program cannot read the arena's response: %w", err)
	}
	if head.ID != id {
		return nil, fmt.Errorf("match %s: the arena returned the record of another match: %s", client.OneLine(id), client.OneLine(head.ID))
	}
	logs, err := s.decisionLogs(ctx, k.Stderr, path, head.Players)
	if err != nil {
		return nil, err
	}
	if record["decisionLogs"], err = json.Marshal(logs); err != nil {
		return nil, err
	}
	return json.Marshal(record)
}

// decisionLogs reads the decision logs of the caller's bots in a match.
func (s *session) decisionLogs(ctx context.Context, errOut io.Writer, path string, players []rest.MatchPlayer) ([]rest.DecisionLog, error) {
	logs := []rest.DecisionLog{}
	if _, err := s.credentials(owner.BotsRead); err != nil {
		fmt.Fprintf(errOut, "without decision logs: %v\n", err)
		return logs, nil
	}
	for _, p := range players {
		log, err := ask[rest.Decisions](ctx, s, get(owner.BotsRead, "/bots/"+url.PathEscape(p.BotID)+path+"/decisions"))
		if refusal := new(client.Refusal); errors.As(err, &refusal) && (refusal.Status == http.StatusForbidden || refusal.Status == http.StatusNotFound) {
			continue // the bot belongs to someone else
		}
		if err != nil {
			return nil, err
		}
		logs = append(logs, rest.DecisionLog{Seat: p.Seat, BotID: p.BotID, Decisions: log.value})
	}
	if len(logs) == 0 {
		fmt.Fprintln(errOut, "without decision logs: none of your bots played in this match")
	}
	return logs, nil
}

package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"hexarena/adapters/rest"
	"hexarena/cmd/arena/progress"
	domain "hexarena/domain/arena"
	"hexarena/domain/audit"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// gatherFromLog adds the arena's keys and the ladder to the evidence. For the
// ladder, it recomputes the ladder's whole history. If neither a file nor an arena
// supplies the match's record, it also builds the record from the log.
func (s *matchSource) gatherFromLog(ctx context.Context, errOut io.Writer, e *audit.Evidence) (err error) {
	if e.PlatformKey, e.SeedKeys, err = arenaKeys(ctx, s.log); err != nil {
		return err
	}
	if s.file != "" || s.arena != nil {
		e.Ladder, err = FoldLadder(ctx, s.log, errOut, s.mode, e.PlatformKey, s.ids...)
		return err
	}
	h, err := frames.Read(ctx, s.log, s.id)
	if err != nil {
		return fmt.Errorf("match %s: %w", s.id, err)
	}
	if e.Ladder, err = FoldLadder(ctx, s.log, errOut, h.Started.Mode, e.PlatformKey, s.id); err != nil {
		return err
	}
	s.text, err = recordOf(s.id, h, e.Ladder)
	return err
}

// arenaKeys reads the stream arena-keys. It returns the platform key in base64, or
// an empty string if the stream does not exist. It also returns the seed keys by
// id.
func arenaKeys(ctx context.Context, log eventstore.Log) (platform string, seeds map[string]audit.SeedKey, err error) {
	kind := eventstore.Kind[domain.Keys, domain.Event]{Decode: domain.DecodeKeys, Evolve: domain.EvolveKeys}
	named, _, err := kind.Load(ctx, log, domain.KeysStream, domain.Keys{})
	if err != nil {
		return "", nil, err
	}
	if named.Exist() {
		platform = named.Platform.String()
	}
	seeds = map[string]audit.SeedKey{}
	for _, s := range named.Seeds {
		known := audit.SeedKey{Hash: seed.Seed(s.Hash)}
		if s.Revealed != nil {
			known.Key = s.Revealed[:]
		}
		seeds[s.ID] = known
	}
	return platform, seeds, nil
}

// FoldLadder recomputes a ladder from its first event. The result also contains the
// outcomes of the matches in watch. FoldLadder shows its progress on errOut. If
// the stored ladder differs from the recomputed one, the error is an
// *audit.LadderDifference.
func FoldLadder(ctx context.Context, log eventstore.Log, errOut io.Writer, mode, platformKey string, watch ...string) (*audit.Ladder, error) {
	stream := eventstore.StreamID(ladder.Stream(mode))
	total := uint64(0)
	for r, err := range log.Read(ctx, stream, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", stream, err)
		}
		total = uint64(r.Revision) + 1
	}
	p := progress.New(errOut, "events")
	defer p.Finish()
	l := audit.NewLadder(mode, platformKey, watch...)
	for r, err := range log.Read(ctx, stream, 0, eventstore.ReadOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", stream, err)
		}
		m, err := eventstore.DecodeMetadata(r)
		if err != nil {
			return nil, err
		}
		if err := l.Add(uint64(r.Revision), m.At, r.Type, r.Data); err != nil {
			return nil, err
		}
		if done := uint64(r.Revision) + 1; done%1024 == 0 {
			p.Show("ladder-"+mode, done, max(done, total))
		}
	}
	return l, nil
}

// recordOf builds the record of a match from the match's history and its ladder.
func recordOf(id string, h frames.History, l *audit.Ladder) ([]byte, error) {
	status, rated := l.Outcome(id)
	if status == matches.Running || !h.Ended() {
		return nil, errRunning(id)
	}
	ended := h.Times[len(h.Times)-1].UTC().Format(match.TimeFormat)
	r := rest.Match{
		MatchSummary: matches.Summary{ID: id, Mode: h.Started.Mode, Status: status, EndedAt: &ended},
		Seed:         h.Seed, Proof: h.Proof, Commitment: h.Started.Commitment, Replay: h.Replay(), ThinkingMs: h.ThinkingMs(),
	}
	if len(r.Replay) == 0 {
		return nil, errors.New("the match's stream contains no board")
	}
	r.StartedAt = r.Replay[0].At
	for seat, s := range h.Started.Seats {
		p := matches.Player{Seat: seat, BotID: s.BotID, BotName: s.BotName}
		if i := slices.IndexFunc(rated, func(c ladder.RatedSeat) bool { return c.BotID == s.BotID }); i >= 0 {
			delta := rating.Delta(rated[i].Before, rated[i].After)
			p.Placement, p.RatingDelta = &rated[i].Placement, &delta
		}
		r.Players = append(r.Players, p)
	}
	return json.Marshal(r)
}

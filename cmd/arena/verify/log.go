package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
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

// gatherFromLog adds the arena's keys and the ladder to the evidence. It recomputes
// the whole history of the ladder. If neither a file nor an arena supplies the
// match's record, gatherFromLog also builds the record from the log.
func (s *matchSource) gatherFromLog(ctx context.Context, errOut io.Writer, e *audit.Evidence) (err error) {
	mode, fromLog := s.mode, s.file == "" && s.arena == nil
	var h frames.History
	if fromLog {
		if h, err = frames.Read(ctx, s.log, s.id); err != nil {
			return fmt.Errorf("match %s: %w", s.id, err)
		}
		mode = h.Started.Mode
	}
	size, err := sizeInLog(ctx, s.log, mode)
	if err != nil {
		return err
	}
	if e.PlatformKey, e.SeedKeys, err = arenaKeys(ctx, s.log); err != nil {
		return err
	}
	e.Ladder = audit.NewLadder(mode, e.PlatformKey, s.ids...)
	e.Ladder.Beacons, e.Ladder.SeedKeys = e.Beacons, e.SeedKeys
	if err = foldLog(ctx, s.log, errOut, mode, size, e.Ladder); err == nil && fromLog {
		s.text, err = recordOf(s.id, h, e.Ladder)
	}
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

// FoldLadder recomputes a ladder from its first event. It shows its progress on
// errOut. If the stored ladder differs from the recomputed one, the error is an
// *audit.LadderDifference.
func FoldLadder(ctx context.Context, log eventstore.Log, errOut io.Writer, mode, platformKey string) (*audit.Ladder, error) {
	size, err := sizeInLog(ctx, log, mode)
	if err != nil {
		return nil, err
	}
	l := audit.NewLadder(mode, platformKey)
	return l, foldLog(ctx, log, errOut, mode, size, l)
}

// foldLog adds to l the events of a ladder's stream whose revisions are below size. A
// caller that needs the arena's keys must first determine the size, and then read the
// keys. If the arena announces another key in between, only later events use that key.
func foldLog(ctx context.Context, log eventstore.Log, errOut io.Writer, mode string, size uint64, l *audit.Ladder) error {
	return fold(l, mode, size, errOut, eventsInLog(ctx, log, mode, size), nil)
}

// sizeInLog returns the number of events of a ladder's stream.
func sizeInLog(ctx context.Context, log eventstore.Log, mode string) (uint64, error) {
	stream := eventstore.StreamID(ladder.Stream(mode))
	for r, err := range log.Read(ctx, stream, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", stream, err)
		}
		return uint64(r.Revision) + 1, nil
	}
	return 0, ctx.Err()
}

// eventsInLog yields the events of a ladder's stream whose revisions are below size.
func eventsInLog(ctx context.Context, log eventstore.Log, mode string, size uint64) iter.Seq2[ladderEvent, error] {
	stream := eventstore.StreamID(ladder.Stream(mode))
	return func(yield func(ladderEvent, error) bool) {
		if size == 0 {
			return
		}
		for r, err := range log.Read(ctx, stream, 0, eventstore.ReadOptions{Limit: int(size)}) {
			if err != nil {
				yield(ladderEvent{}, fmt.Errorf("read %s: %w", stream, err))
				return
			}
			m, err := eventstore.DecodeMetadata(r)
			if !yield(ladderEvent{revision: uint64(r.Revision), at: m.At, name: r.Type, data: r.Data}, err) || err != nil {
				return
			}
		}
	}
}

// fold adds events to l. It calls after() for each event that does not differ. total is
// the number of events.
func fold(l *audit.Ladder, mode string, total uint64, errOut io.Writer, events iter.Seq2[ladderEvent, error], after func(ladderEvent) error) error {
	p := progress.New(errOut, "events")
	defer p.Finish()
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := l.Add(e.revision, e.at, e.name, e.data); err != nil {
			return err
		}
		if after != nil {
			if err := after(e); err != nil {
				return err
			}
		}
		if done := e.revision + 1; done%1024 == 0 {
			p.Show("ladder-"+mode, done, total)
		}
	}
	return nil
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

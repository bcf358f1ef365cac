package trials

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/directory"
)

// begin passes a bot's trial to the referee, or ends the trial if it cannot be
// played.
func (r *Runner) begin(ctx context.Context, b directory.Bot) error {
	if r.referee.Playing(b.Trial) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s, begun, err := r.seating(ctx, b)
	if err != nil {
		return err
	}
	outcome := ""
	switch {
	case time.Since(b.TrialOrdered) > patience+r.o.Walls[b.Mode]:
		outcome = owner.TrialExpired
	case !begun && s.SeedKey == "":
		err = errNoSeedKey
	case !begun:
		outcome, err = r.prepare(ctx, b)
	}
	if err == nil && outcome == "" {
		outcome, err = r.play(ctx, b, s)
	}
	if err != nil || outcome == "" {
		return err
	}
	return r.end(ctx, b, b.Trial, outcome)
}

// errNoSeedKey means that this process does not have the active seed key. Then it must
// not begin a trial, because the trial's dice would not be secret.
var errNoSeedKey = errors.New("this process does not have the active seed key")

// prepare sets how long the log keeps the trial. If new trials must not begin, it
// returns the outcome with which the trial ends.
func (r *Runner) prepare(ctx context.Context, b directory.Bot) (outcome string, err error) {
	draining, err := r.o.Draining(ctx)
	if err != nil {
		return "", err
	}
	if draining {
		return owner.TrialDraining, nil
	}
	for _, stream := range []string{match.TrialStream(b.Trial), match.DetailsStream(b.Trial)} {
		if err := r.o.Log.SetMetadata(ctx, eventstore.StreamID(stream), eventstore.StreamMetadata{MaxAge: kept}); err != nil {
			return "", fmt.Errorf("set the maximum age of %s: %w", stream, err)
		}
	}
	return "", nil
}

// play passes a trial to the referee, unless the bot is in a match.
func (r *Runner) play(ctx context.Context, b directory.Bot, s ladder.Seating) (outcome string, err error) {
	r.o.BetweenTicks(func() {
		defer r.lock()()
		var playing bool
		if playing, err = r.o.InMatch(ctx, b.Mode, b.ID); err != nil {
			return
		}
		if playing {
			outcome = owner.TrialInMatch
			return
		}
		r.bots[b.Trial] = b
		r.referee.Play(s)
	})
	return outcome, err
}

// seating returns the seating of a trial, and whether its game has begun. If the game
// has begun, the seating names the game's seed key, because the referee needs that key
// to resume the game.
func (r *Runner) seating(ctx context.Context, b directory.Bot) (s ladder.Seating, begun bool, err error) {
	s = ladder.Seating{MatchID: b.Trial, Mode: b.Mode, Bots: []ladder.Entrant{{BotID: b.ID, Rating: rating.New()}}, SeatedAt: b.TrialOrdered}
	for _, h := range Houses {
		s.Bots = append(s.Bots, ladder.Entrant{BotID: h.ID, Rating: rating.New()})
	}
	stream := eventstore.StreamID(match.TrialStream(b.Trial))
	for first, err := range r.o.Log.Read(ctx, stream, 0, eventstore.ReadOptions{Limit: 1}) {
		if err != nil {
			return s, false, fmt.Errorf("read %s: %w", stream, err)
		}
		e, err := match.Decode(first.Type, first.Data)
		if err != nil {
			return s, false, fmt.Errorf("%s@%d: %w", stream, first.Revision, err)
		}
		if started, ok := e.(match.Started); ok {
			s.SeedKey, s.Commitment = started.Table.SeedKey, started.Commitment
			return s, true, nil
		}
	}
	id, key := r.o.SeedKey()
	s.SeedKey, s.Commitment = id, seed.Commitment(seed.Server(key, b.Trial))
	return s, false, nil
}

package bench

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// historyDays is the number of days over which the matches are spread.
const historyDays = 20

// fill writes the arena's log.
func (b *callsBench) fill(ctx context.Context, p *progress.Display) (err error) {
	log := b.arena.log
	if b.history, err = newHistory(ctx, log, b.flags.Bots, 0); err != nil {
		return err
	}
	everyone := b.history.bots
	for day := range historyDays {
		b.history.at = time.Now().AddDate(0, 0, day-historyDays)
		b.history.bots = everyone[:4]
		old := len(b.history.ids)
		if err := b.history.grow(ctx, old+b.flags.Veteran/historyDays, p); err != nil {
			return err
		}
		b.history.bots = everyone
		if err := b.history.grow(ctx, old+b.flags.Matches/historyDays, p); err != nil {
			return err
		}
	}
	if err := b.playGames(ctx); err != nil {
		return err
	}
	b.keyID = "0b9d66ab-5a3b-4f4c-8f6e-0f5f3f7f9a11"
	key := owner.APIKeyRegistered{KeyID: b.keyID, PublicKey: publicKey, Scopes: owner.DefaultScopes()}
	if err := appendEvents[owner.Event](ctx, log, owner.AccountStream(everyone[0].OwnerID), time.Now(), key); err != nil {
		return err
	}
	return inOrder(
		func() error { return b.awaitHead(ctx, ladder.Standard, len(b.history.ids)) },
		func() error { return b.awaitHead(ctx, ladder.Parley, b.flags.Games) },
	)
}

// awaitHead waits until a mode's signed log contains n matches.
func (b *callsBench) awaitHead(ctx context.Context, mode string, n int) error {
	size := fmt.Appendf(nil, "\n%d\n", n)
	return b.arena.await(ctx, "/log/"+mode+"/head", func(head []byte) bool { return bytes.Contains(head, size) })
}

// playGames plays parley matches, and leaves some of them running.
func (b *callsBench) playGames(ctx context.Context) error {
	log := b.arena.log
	s := newSimulation(log, ladder.Parley, b.flags.Games+b.flags.Running)
	now := time.Now()
	matches, err := s.seat(ctx, now)
	if err != nil {
		return err
	}
	b.running = matches[:b.flags.Running]
	if err := startAll(ctx, log, b.running); err != nil {
		return err
	}
	for _, m := range matches[b.flags.Running:] {
		if err := m.playOut(ctx, log); err != nil {
			return err
		}
		if err := s.finish(ctx, now, m); err != nil {
			return err
		}
		b.ended, b.played = append(b.ended, m.id()), append(b.played, m.seating.Bots[0].BotID)
	}
	return nil
}

// publicKey is the key with the id keyID. wrongSignature is invalid, but checking it
// costs as much as checking a valid signature.
var (
	publicKey      = mustDecode("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")
	wrongSignature = append(slices.Clone(publicKey), make([]byte, 32)...)
)

func mustDecode(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err) // the constant is valid
	}
	return b
}

// startAll starts matches and plays their first turns.
func startAll(ctx context.Context, log eventstore.Log, matches []*simulatedMatch) error {
	for _, m := range matches {
		m.clock = time.Now
		if err := m.start(turnsBefore); err != nil {
			return err
		}
		if err := m.store(ctx, log); err != nil {
			return err
		}
	}
	return nil
}

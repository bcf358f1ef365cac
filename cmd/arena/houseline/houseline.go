// Package houseline is the line between a referee and a house bot in the same process.
// Trials and matches at home use it. Call [Open].
package houseline

import (
	"context"
	"sync"

	"hexarena/adapters/housebot"
	"hexarena/adapters/referee"
	"hexarena/domain/match"
)

// Open returns the line to a house bot that plays one match. The bot answers within
// Send, so nothing is ever left to drain.
func Open(player *housebot.Player, receive func(frame []byte, cause string)) (referee.Line, referee.Accepted) {
	return &line{player: player, receive: receive}, referee.Accepted{Version: housebot.Version}
}

type line struct {
	receive func(frame []byte, cause string)

	mu     sync.Mutex // guards the field below
	player *housebot.Player
}

// Send implements referee.Line.
func (l *line) Send(_ context.Context, frame []byte) error {
	l.mu.Lock()
	answer, err := l.player.Answer(frame)
	l.mu.Unlock()
	if err != nil {
		return err
	}
	l.receive(answer, "")
	return nil
}

// Drain implements referee.Line.
func (*line) Drain(context.Context) {}

// Fault implements referee.Line.
func (*line) Fault() *match.Fault { return nil }

// Close implements referee.Line.
func (*line) Close() {}

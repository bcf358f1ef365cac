package housebot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// A bot talks once in each turn, even if it takes over a seat that has talked already.
func TestOneMessageInEachTurn(t *testing.T) {
	view := match.View{Seat: 1}
	view.Turn = 9
	view.TalkLog = []match.TableTalk{{Seat: 1, Turn: 8}, {Seat: 0, Turn: 9}}
	var now thisTurn
	now.at(&view)
	require.Equal(t, "hello", now.talk("hello"))
	now.at(&view)
	require.Empty(t, now.talk("hello"))
	view.Turn = 10
	now.at(&view)
	require.Equal(t, "hello", now.talk("hello"))

	view.TalkLog = append(view.TalkLog, match.TableTalk{Seat: 1, Turn: 10})
	var other thisTurn
	other.at(&view)
	require.Empty(t, other.talk("hello"))
}

// A bot may take over a seat in the middle of a turn. It does not know whether the seat has
// already played a dev card in this turn. A second one would be a strike.
func TestATakeoverPlaysNoCardInItsFirstTurn(t *testing.T) {
	view := match.View{Seat: 1}
	var now thisTurn
	now.at(&view) // the setup
	view.Turn = 9
	now.at(&view)
	require.False(t, now.played)
	require.Zero(t, now.offers)

	var other thisTurn
	other.at(&view)
	require.True(t, other.played)
	require.Equal(t, game.MaxOffers, other.offers)
	view.Turn = 13
	other.at(&view)
	require.False(t, other.played)
	require.Zero(t, other.offers)
}

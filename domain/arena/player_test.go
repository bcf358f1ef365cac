package arena_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// lastOf folds only the last event of a history, because a stream with
// $maxCount 1 keeps only that event.
func lastOf(given events) arena.Player {
	var p arena.Player
	for _, e := range given[max(0, len(given)-1):] {
		p = arena.EvolvePlayer(p, e, noon)
	}
	return p
}

func TestPlayer(t *testing.T) {
	claimed := arena.PlayerClaimed{Holder: "mine", Generation: 1, Host: "h1"}
	renewed := arena.PlayerRenewed{Holder: "mine", Generation: 1, Host: "h1"}
	released := arena.PlayerReleased{Holder: "mine", Generation: 1, Host: "h1"}
	taken := arena.PlayerClaimed{Holder: "other", Generation: 2, Host: "h2"}
	heldByMe := &arena.HeldError{By: arena.Player{Holder: "mine", Generation: 1, Host: "h1", Playing: true, At: noon}}

	claim := func(holder, host string, ranOut bool) func(arena.Player) ([]arena.Event, error) {
		return func(p arena.Player) ([]arena.Event, error) { return p.Claim(holder, host, ranOut) }
	}
	renew := func(holder string, generation uint64) func(arena.Player) ([]arena.Event, error) {
		return func(p arena.Player) ([]arena.Event, error) { return p.Renew(holder, generation) }
	}
	release := func(holder string, generation uint64) func(arena.Player) ([]arena.Event, error) {
		return func(p arena.Player) ([]arena.Event, error) { return p.Release(holder, generation) }
	}

	tests := map[string]struct {
		given events
		when  func(arena.Player) ([]arena.Event, error)
		then  events
		fails error
	}{
		"the first claim":                       {nil, claim("mine", "h1", false), events{claimed}, nil},
		"a claim while another plays":           {events{claimed}, claim("other", "h2", false), nil, heldByMe},
		"a claim while another renews":          {events{claimed, renewed}, claim("other", "h2", false), nil, heldByMe},
		"a claim when the lease has run out":    {events{claimed, renewed}, claim("other", "h2", true), events{taken}, nil},
		"a claim after a release":               {events{claimed, released}, claim("other", "h2", false), events{taken}, nil},
		"a holder claims its own lease again":   {events{claimed, renewed}, claim("mine", "h3", false), events{arena.PlayerClaimed{Holder: "mine", Generation: 2, Host: "h3"}}, nil},
		"a renewal of one's own claim":          {events{claimed}, renew("mine", 1), events{renewed}, nil},
		"a renewal of a renewal":                {events{claimed, renewed}, renew("mine", 1), events{renewed}, nil},
		"a renewal without a claim":             {nil, renew("mine", 1), nil, arena.ErrNotSeating},
		"a renewal after another took over":     {events{claimed, taken}, renew("mine", 1), nil, arena.ErrNotSeating},
		"a renewal of an older claim of mine":   {events{arena.PlayerClaimed{Holder: "mine", Generation: 2}}, renew("mine", 1), nil, arena.ErrNotSeating},
		"a renewal after a release":             {events{claimed, released}, renew("mine", 1), nil, arena.ErrNotSeating},
		"a release":                             {events{claimed, renewed}, release("mine", 1), events{released}, nil},
		"a release after another took over":     {events{claimed, taken}, release("mine", 1), nil, nil},
		"a second release":                      {events{claimed, released}, release("mine", 1), nil, nil},
		"a release of a later claim of my own":  {events{arena.PlayerClaimed{Holder: "mine", Generation: 2}}, release("mine", 1), nil, nil},
		"another stream's event makes no claim": {events{arena.DrainStarted{}}, renew("mine", 1), nil, arena.ErrNotSeating},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.when(lastOf(tt.given))
			if tt.fails != nil {
				require.EqualError(t, err, tt.fails.Error())
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tt.then, got)
		})
	}
}

func TestHeldErrorIsOneClearLine(t *testing.T) {
	err := &arena.HeldError{By: arena.Player{Holder: "5f0c", Host: "red"}}
	require.EqualError(t, err, "another arena is already playing on this log: 5f0c on red")
}

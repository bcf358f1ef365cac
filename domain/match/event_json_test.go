package match

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/event"
)

// actions holds events whose actions encoding/json changes, besides those in examples.
var actions = []ActionPlayed{
	{Seat: 1, ActionData: ActionData{Decision: 3, Kind: "turn", Action: json.RawMessage(`{"type":"end_turn","talk":"a <b> & \"c\\\" ü } \u2028"}`), ElapsedMs: ptr(int64(0))}},
	{Seat: 1, ActionData: ActionData{Decision: 3, Kind: "turn", Action: json.RawMessage("{ \"a\": {\"b\":[ 1 ]}}")}},
	{Seat: 1, ActionData: ActionData{Kind: "<&>"}},
}

// A frequent event encodes itself as encoding/json would, and Decode reads it without
// encoding/json.
func TestFrequentEventsEncodeThemselves(t *testing.T) {
	all := append([]Event{}, examples...)
	for _, e := range actions {
		all = append(all, e)
	}
	found := 0
	for _, e := range all {
		fast, ok := e.(interface{ AppendJSON(b []byte) []byte })
		if !ok {
			continue
		}
		found++
		want, err := json.Marshal(e)
		require.NoError(t, err)
		require.Equal(t, string(want), string(fast.AppendJSON(nil)))
		require.Equal(t, "x"+string(want), string(fast.AppendJSON([]byte("x"))))
	}
	require.Equal(t, 6, found)

	for _, e := range examples {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		switch e := e.(type) {
		case ActionPlayed:
			got, ok := scanAction(text)
			require.True(t, ok)
			require.Equal(t, e, got)
		case DiceRolled:
			got, ok := scanRoll(text)
			require.True(t, ok)
			require.Equal(t, e, got)
		}
	}
}

// Decode reads every text of a frequent event like encoding/json.
func TestDecodeOfChangedFrequentEvents(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	scanned := 0
	for _, e := range append([]Event{actions[0]}, examples...) {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		for range 5000 {
			at := rng.IntN(len(text) + 1)
			from := min(len(text), at+rng.IntN(3))
			changed := append(append(append([]byte{}, text[:at]...), ` 0-1e.9"\,:[]{}nxü`[rng.IntN(19)]), text[from:]...)
			var want Event
			switch e.(type) {
			case ActionPlayed:
				if _, ok := scanAction(changed); ok {
					scanned++
				}
				want, err = event.Decode[ActionPlayed](changed)
			case DiceRolled:
				if _, ok := scanRoll(changed); ok {
					scanned++
				}
				want, err = event.Decode[DiceRolled](changed)
			default:
				continue
			}
			got, gotErr := Decode(e.EventType(), changed)
			require.Equal(t, err, gotErr, "%s", changed)
			require.Equal(t, want, got, "%s", changed)
		}
	}
	require.Positive(t, scanned)
}

package match

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/game"
)

// A malformed answer is a timeout. An answer with values that the schema
// forbids is illegal (docs/protocol.md, "timeout or illegal").
func TestReadingAnswers(t *testing.T) {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	cases := []struct {
		name, frame string
		kind        game.Kind
		want        string // "" if the action is played; otherwise "malformed" or the code of the broken rule
	}{
		{"whole", `{"id":7,"action":{"settlement":3,"road":4}}`, game.KindSetup, ""},
		{"unknown fields are ignored", `{"id":7,"x":{"a":[1e999]},"action":{"settlement":3,"road":4,"talk":5,"y":null}}`, game.KindSetup, ""},
		{"white space", " {\n\"action\" : {\"road\":4 , \"settlement\": 3} ,\t\"id\" : 7 } ", game.KindSetup, ""},
		{"not JSON", `{"id":7,"action":{"settlement":3,"road":4}`, game.KindSetup, "malformed"},
		{"empty", ``, game.KindSetup, "malformed"},
		{"text after the object", `{"id":7,"action":{"settlement":3,"road":4}} x`, game.KindSetup, "malformed"},
		{"two values", `{"id":7,"action":{"settlement":3,"road":4}}{}`, game.KindSetup, "malformed"},
		{"not an object", `7`, game.KindSetup, "malformed"},
		{"duplicate key", `{"id":7,"id":7,"action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"duplicate key, escaped", `{"id":7,"action":{"settlement":3,"road":4,"ro\u0061d":4}}`, game.KindSetup, "malformed"},
		{"id missing", `{"action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"id never asked", `{"id":8,"action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"id too large", `{"id":99999999999999999999999,"action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"id as string", `{"id":"7","action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"id as fraction", `{"id":7.0,"action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"action missing", `{"id":7}`, game.KindSetup, "malformed"},
		{"action null", `{"id":7,"action":null}`, game.KindSetup, "malformed"},
		{"action a list", `{"id":7,"action":[]}`, game.KindSetup, "malformed"},
		{"field missing", `{"id":7,"action":{"settlement":3}}`, game.KindSetup, "malformed"},
		{"keys are case-sensitive", `{"id":7,"action":{"settlement":3,"Road":4}}`, game.KindSetup, "malformed"},
		{"required null", `{"id":7,"action":{"settlement":null,"road":4}}`, game.KindSetup, "malformed"},
		{"fraction", `{"id":7,"action":{"settlement":3.5,"road":4}}`, game.KindSetup, "malformed"},
		{"exponent", `{"id":7,"action":{"settlement":3e0,"road":4}}`, game.KindSetup, "malformed"},
		{"string for integer", `{"id":7,"action":{"settlement":"3","road":4}}`, game.KindSetup, "malformed"},
		{"NaN", `{"id":7,"action":{"settlement":NaN,"road":4}}`, game.KindSetup, "malformed"},
		{"nested deeper than 64", `{"id":7,"x":` + deep + `,"action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"nested 64 deep", `{"id":7,"x":` + deep[1:64] + deep[66:129] + `,"action":{"settlement":3,"road":4}}`, game.KindSetup, ""},
		{"bad UTF-8", "{\"id\":7,\"x\":\"\xff\",\"action\":{\"settlement\":3,\"road\":4}}", game.KindSetup, "malformed"},
		{"half a surrogate pair", `{"id":7,"x":"\ud83d","action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"the other half", `{"id":7,"x":"\udc00\ud83d","action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"half a pair in a key", `{"id":7,"\uD83Dx":1,"action":{"settlement":3,"road":4}}`, game.KindSetup, "malformed"},
		{"a whole pair", `{"id":7,"x":"\\\"\uD83D\ude00","action":{"settlement":3,"road":4}}`, game.KindSetup, ""},
		{"vertex out of range", `{"id":7,"action":{"settlement":54,"road":4}}`, game.KindSetup, game.ReasonOutOfRange},
		{"edge negative", `{"id":7,"action":{"settlement":3,"road":-1}}`, game.KindSetup, game.ReasonOutOfRange},
		{"edge enormous", `{"id":7,"action":{"settlement":3,"road":123456789012345678901234567890}}`, game.KindSetup, game.ReasonOutOfRange},
		{"malformed wins", `{"id":7,"action":{"settlement":54,"road":"4"}}`, game.KindSetup, "malformed"},

		{"type missing", `{"id":7,"action":{}}`, game.KindTurn, "malformed"},
		{"type not a string", `{"id":7,"action":{"type":1}}`, game.KindTurn, "malformed"},
		{"type unknown", `{"id":7,"action":{"type":"build_castle"}}`, game.KindTurn, game.ReasonUnknownType},
		{"type of another decision", `{"id":7,"action":{"type":"setup"}}`, game.KindTurn, game.ReasonUnknownType},
		{"talk null is absent", `{"id":7,"action":{"type":"end_turn","talk":null}}`, game.KindTurn, ""},
		{"talk of 240", `{"id":7,"action":{"type":"end_turn","talk":"` + strings.Repeat("é", 240) + `"}}`, game.KindTurn, ""},
		{"talk of 241", `{"id":7,"action":{"type":"end_turn","talk":"` + strings.Repeat("é", 241) + `"}}`, game.KindTurn, game.ReasonTalkTooLong},
		{"talk not a string", `{"id":7,"action":{"type":"end_turn","talk":["x"]}}`, game.KindTurn, "malformed"},
		{"talk on an action that takes none", `{"id":7,"action":{"type":"buy_dev","talk":["x"]}}`, game.KindTurn, ""},
		{"victim null is absent", `{"id":7,"action":{"type":"play_knight","hex":4,"victim":null}}`, game.KindTurn, ""},
		{"victim not a seat", `{"id":7,"action":{"type":"play_knight","hex":4,"victim":4}}`, game.KindTurn, game.ReasonOutOfRange},
		{"no edges", `{"id":7,"action":{"type":"play_roadworks","edges":[]}}`, game.KindTurn, game.ReasonEdgeCount},
		{"three edges", `{"id":7,"action":{"type":"play_roadworks","edges":[1,2,3]}}`, game.KindTurn, game.ReasonEdgeCount},
		{"three edges, one a string", `{"id":7,"action":{"type":"play_roadworks","edges":[1,2,"3"]}}`, game.KindTurn, "malformed"},
		{"edges not an array", `{"id":7,"action":{"type":"play_roadworks","edges":1}}`, game.KindTurn, "malformed"},
		{"edges with null", `{"id":7,"action":{"type":"play_roadworks","edges":[1,null]}}`, game.KindTurn, "malformed"},
		{"resource unknown", `{"id":7,"action":{"type":"play_embargo","resource":"gold"}}`, game.KindTurn, game.ReasonUnknownResource},
		{"resource desert", `{"id":7,"action":{"type":"play_embargo","resource":"desert"}}`, game.KindTurn, game.ReasonUnknownResource},
		{"counts unknown", `{"id":7,"action":{"type":"play_windfall","take":{"gold":0,"ore":2}}}`, game.KindTurn, game.ReasonUnknownResource},
		{"counts negative", `{"id":7,"action":{"type":"play_windfall","take":{"ore":-2}}}`, game.KindTurn, game.ReasonNegativeCount},
		{"counts enormous", `{"id":7,"action":{"type":"play_windfall","take":{"ore":1000000}}}`, game.KindTurn, game.ReasonOutOfRange},
		{"counts null", `{"id":7,"action":{"type":"play_windfall","take":{"ore":null}}}`, game.KindTurn, "malformed"},
		{"counts fraction of an unknown", `{"id":7,"action":{"type":"play_windfall","take":{"gold":1.5}}}`, game.KindTurn, "malformed"},
		{"counts a list", `{"id":7,"action":{"type":"play_windfall","take":["ore","ore"]}}`, game.KindTurn, "malformed"},
		{"counts with zero", `{"id":7,"action":{"type":"play_windfall","take":{"ore":2,"wool":0,"brick":-0}}}`, game.KindTurn, ""},
		{"to null is all", `{"id":7,"action":{"type":"offer_trade","give":{"ore":1},"get":{"wool":1},"to":null,"talk":""}}`, game.KindTurn, ""},
		{"accept missing", `{"id":7,"action":{}}`, game.KindTrade, "malformed"},
		{"accept a number", `{"id":7,"action":{"accept":1}}`, game.KindTrade, "malformed"},
		{"accept", `{"id":7,"action":{"accept":false,"talk":"no"}}`, game.KindTrade, ""},
		{"cards", `{"id":7,"action":{"cards":{"ore":4}}}`, game.KindDiscard, ""},
		{"bandit", `{"id":7,"action":{"hex":18,"victim":3,"talk":"sorry"}}`, game.KindBandit, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			id, _, err := ReadFrame(c.kind, []byte(c.frame))
			if err == nil && id != 7 {
				err = ErrMalformed
			}
			require.Equal(t, c.want, outcomeOf(err))
		})
	}
}

func outcomeOf(err error) string {
	var illegal *game.Illegal
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrMalformed):
		return "malformed"
	case errors.As(err, &illegal):
		return illegal.Reason
	default:
		return fmt.Sprintf("unexpected error %v", err)
	}
}

// The log stores the fields of the schema exactly as the bot sent them.
func TestActionsAreStoredAsSent(t *testing.T) {
	_, a, err := ReadFrame(game.KindTurn, []byte(`{"id":1,"action":{"talk": "hé\u0021", "x":1, "get":{ "ore": 1,"wool":0 },"give":{"brick":2},"to":null,"type":"offer_trade"}}`))
	require.NoError(t, err)
	require.Equal(t, `{"talk":"hé\u0021","get":{"ore":1,"wool":0},"give":{"brick":2},"type":"offer_trade"}`, string(a.Sent))
	require.Equal(t, "hé!", a.Talk)
}

func TestStoredAnswersAreCut(t *testing.T) {
	require.Equal(t, "a\uFFFDb", stored([]byte("a\xffb")))
	long := stored([]byte("a" + strings.Repeat("é", 4000)))
	require.Len(t, long, 4095, "cut off between two code points")
	require.Len(t, stored([]byte(strings.Repeat("x", 70000))), 4096)
}

func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{
		`{"id":7,"action":{"settlement":3,"road":4}}`, `{"id":1,"action":{"type":"offer_trade","give":{"ore":1},"get":{"wool":1},"talk":"\ud800"}}`,
		`{"id":1,"action":{"type":"play_roadworks","edges":[1,2]}}`, "{\"id\":1,\"action\":{\"cards\":{\"\\u0000\":1}}}", `[[[[`, `{"a":"\"}`,
	} {
		for kind := range 5 {
			f.Add([]byte(s), uint8(kind))
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte, k uint8) {
		kind := game.Kind(k % 5)
		_, a, err := ReadFrame(kind, frame)
		if err != nil {
			require.NotContains(t, outcomeOf(err), "unexpected", "the error is malformed or illegal")
			return
		}
		again, err := ReadAction(kind, a.Sent)
		require.NoError(t, err, "a stored action must be readable: %s", a.Sent)
		require.Equal(t, a, again)
	})
}

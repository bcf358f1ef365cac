package match

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/game"
)

// Each malformed answer has an explanation (docs/protocol.md, "Malformed answers").
// The explanation shortens text from the bot and makes it printable.
func TestExplainMalformed(t *testing.T) {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for _, c := range []struct{ frame, code, at, message string }{
		{`{"id":44,"action":{"type":"x",}}`, CodeSyntax, "", "at byte 31"},
		{`{"id":44`, CodeSyntax, "", "unexpected end of JSON input at byte 8"},
		{``, CodeSyntax, "", "the message is empty"},
		{`7`, CodeWrongType, "", "the message must be an object with id and action, got the number 7"},
		{`{"id":44,"id":44}`, CodeDuplicateKey, "", `the key "id" is given twice`},
		{`{"id":44,"action":` + deep + `}`, CodeTooDeep, "", "the message is nested deeper than 64 levels"},
		{`{"id":44,"x":"\ud800"}`, CodeSurrogate, "", "a string contains half of a surrogate pair"},
		{`{"action":{}}`, CodeMissing, "/id", "/id is missing"},
		{`{"id":"44","action":{}}`, CodeWrongID, "/id", `/id must be 44, got the string "44"`},
		{`{"id":45,"action":{}}`, CodeWrongID, "/id", "/id must be 44, got the number 45"},
		{`{"id":0,"action":[]}`, CodeWrongID, "/id", "/id must be 44, got the number 0"},
		{`{"id":99999999999999999999,"action":{}}`, CodeWrongID, "/id", "/id must be 44, got the number 99999999999999999999"},
		{`{"id":44,"action":[]}`, CodeWrongType, "/action", "/action must be an object, got an array"},
		{`{"id":44,"action":{}}`, CodeMissing, "/action/type", "/action/type is missing"},
		{`{"id":44,"action":{"type":"build_road","edge":"14"}}`, CodeWrongType, "/action/edge", `/action/edge must be an integer from 0 to 71, got the string "14"`},
		{`{"id":44,"action":{"type":"build_road","edge":1.5}}`, CodeWrongType, "/action/edge", "/action/edge must be an integer from 0 to 71, got the number 1.5"},
		{`{"id":44,"action":{"type":"play_roadworks","edges":[1,null]}}`, CodeWrongType, "/action/edges/1", "/action/edges/1 must be an integer from 0 to 71, got null"},
		{`{"id":44,"action":{"type":"play_windfall","take":{"\u202e":true}}}`, CodeWrongType, `/action/take/\u202e`, `/action/take/\u202e must be an integer, got true`},
		{`{"id":44,"action":{"type":"play_windfall","take":{"a/~\"":[]}}}`, CodeWrongType, `/action/take/a~1~0\"`, "must be an integer, got an array"},
		{`{"id":44,"action":{"type":"build_road","edge":"a` + strings.Repeat("é", 90) + `"}}`, CodeWrongType, "/action/edge", `the string "aééééééééééé…"`},
		{`{"id":44,"action":{"type":"end_turn","talk":"` + "\uFFFD" + `"}}`, CodeNotUTF8, "", "the message is not valid UTF-8"},
		{`{"id":44,"action":{"type":"end_turn"}}`, CodeBinary, "", "the message is a binary frame; send text frames"},
		{`{"id":44,"x":"` + strings.Repeat("x", 5000)[:4082], CodeCut, "", "only the first 4096 bytes"},
	} {
		m := ExplainMalformed(game.KindTurn, 44, c.frame)
		require.Equal(t, []string{c.code, c.at}, []string{m.Code, m.At}, c.frame)
		require.Contains(t, m.Message, c.message)
		require.LessOrEqual(t, len(m.Message), 200)
	}
}

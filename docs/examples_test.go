package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
)

// jsonBlocks returns the fenced JSON examples of a page or of a part of it.
func jsonBlocks(page string) []string {
	return firsts("(?s)```json\n(.*?)\n```", page)
}

// decoder is one domain package's Decode.
type decoder func(eventType string, data []byte) (any, error)

func decoderOf[E any](decode func(string, []byte) (E, error)) decoder {
	return func(eventType string, data []byte) (any, error) { return decode(eventType, data) }
}

// decoders lists the files in which a switch decodes stored events.
var decoders = []struct {
	file   string
	decode decoder
}{
	{"match/events.go", decoderOf(match.Decode)},
	{"match/details.go", decoderOf(match.DecodeDetail)},
	{"ladder/events.go", decoderOf(ladder.Decode)},
	{"ladder/snapshot.go", decoderOf(ladder.DecodeSnapshot)},
	{"owner/events.go", decoderOf(owner.Decode)},
	{"arena/keys.go", decoderOf(arena.DecodeKeys)},
	{"arena/sealed.go", decoderOf(arena.DecodeSealedKeys)},
	{"arena/player.go", decoderOf(arena.DecodePlayer)},
	{"arena/operations.go", decoderOf(arena.DecodeOperations)},
	{"arena/members.go", decoderOf(arena.DecodeMember)},
	{"arena/assignments.go", decoderOf(arena.DecodeAssignments)},
}

// Every event type has a heading in events.md, with examples. The domain's Decode
// can read the examples, and they contain all fields of the event and no others.
func TestEveryEventIsListed(t *testing.T) {
	page := read(t, "events.md")
	headings := firsts("(?m)^### `(\\w+)`$", page)
	var inCode []string
	for _, d := range decoders {
		types := firsts(`(?m)^\tcase "(\w+)":\n(?:\t\tif .*\n\t\t\treturn e, nil\n\t\t\}\n)?\t\treturn event\.Decode\[`, read(t, "..", "domain", filepath.FromSlash(d.file)))
		require.NotEmpty(t, types, d.file)
		for _, eventType := range types {
			require.Contains(t, headings, eventType)
			examples := jsonBlocks(section(t, page, "### `"+eventType+"`"))
			require.NotEmpty(t, examples, eventType)
			for _, example := range examples {
				requireStored(t, d.decode, eventType, example)
			}
		}
		inCode = append(inCode, types...)
	}
	require.ElementsMatch(t, inCode, headings)
}

func requireStored(t *testing.T, decode decoder, eventType, example string) {
	t.Helper()
	e, err := decode(eventType, []byte(example))
	require.NoError(t, err, eventType)
	stored, err := json.Marshal(e)
	require.NoError(t, err)
	require.Equal(t, example, string(stored), "the example of %s is not what the log stores", eventType)
}

func TestEveryPublicKindIsListed(t *testing.T) {
	zero := 0
	table := section(t, read(t, "events.md"), "## Public kinds")
	onPage := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		onPage[row[2]] = row[1]
	}
	inCode := map[string]string{}
	for _, e := range []match.Event{
		match.Started{}, match.Claimed{}, match.BoardLaid{}, match.DiceRolled{}, match.ActionPlayed{}, match.CardStolen{},
		match.TradeExecuted{}, match.AwardMoved{AwardData: match.AwardData{To: &zero}}, match.DecisionTimedOut{},
		match.AnswerRejected{}, match.SeatResigned{}, match.GameEnded{}, match.Aborted{},
	} {
		if kind, _, _ := match.Publish(e); kind != "" {
			inCode[e.EventType()] = kind
		}
	}
	require.Equal(t, inCode, onPage)
}

// The request in protocol.md has exactly the fields that the arena writes.
func TestTheRequestIsReal(t *testing.T) {
	examples := jsonBlocks(section(t, read(t, "protocol.md"), "### The request"))
	require.Len(t, examples, 1)
	var r match.Request
	d := json.NewDecoder(strings.NewReader(examples[0]))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&r))
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, []byte(examples[0])))
	require.Equal(t, compact.String(), string(r.AppendJSON(nil)))
}

func TestEveryTurnActionIsListed(t *testing.T) {
	var inCode []string
	for action := game.BuildRoad; action <= game.EndTurn; action++ {
		inCode = append(inCode, action.String())
	}
	page := section(t, read(t, "protocol.md"), "### `turn`")
	require.Equal(t, inCode, firsts("(?m)^\\| `(\\w+_\\w+)` \\|", page))
	require.Equal(t, inCode, firsts("\\| `\\{\"type\":\"(\\w+)\"", page))
}

// The tables in rules.md number the board as the code does.
func TestTheBoardIsListed(t *testing.T) {
	page := section(t, read(t, "rules.md"), "## The board")
	hexes := map[string]string{}
	for _, cell := range regexp.MustCompile(`\| (\d+) \| (\d+(?:, \d+){5}) `).FindAllStringSubmatch(page, -1) {
		hexes[cell[1]] = cell[2]
	}
	require.Len(t, hexes, board.Hexes)
	for hex, vertices := range board.HexVertices {
		require.Equal(t, strings.Trim(strings.ReplaceAll(fmt.Sprint(vertices), " ", ", "), "[]"), hexes[strconv.Itoa(hex)])
	}
	ports := regexp.MustCompile(`\| (\d:1 \w+) \| (\d+, \d+) `).FindAllStringSubmatch(page, -1)
	require.Len(t, ports, len(board.Ports))
	for _, port := range board.Ports {
		name := strings.ReplaceAll(fmt.Sprintf("%d:1 %s", port.Rate, port.Resource), "desert", "any")
		at := fmt.Sprintf("%d, %d", port.Vertices[0], port.Vertices[1])
		require.True(t, slices.ContainsFunc(ports, func(row []string) bool { return row[1] == name && row[2] == at }), "%s at %s", name, at)
	}
}

// Every JSON example is at least valid JSON.
func TestExamplesAreJSON(t *testing.T) {
	for _, page := range []string{"protocol.md", "errors.md", "events.md"} {
		for _, example := range jsonBlocks(read(t, page)) {
			require.True(t, json.Valid([]byte(example)), "%s: %s", page, example)
		}
	}
}

package match

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkScan checks that a RequestScanner understands the text of a request, and returns the
// same as encoding/json.
func checkScan(t tester, r Request) {
	text := r.AppendJSON(nil)
	got, ok := new(RequestScanner).Scan(text)
	require.True(t, ok, "%s", text)
	var want Request
	require.NoError(t, json.Unmarshal(text, &want))
	require.Equal(t, want, got)
}

// If a RequestScanner accepts a text that AppendJSON did not write, it also reads it like
// encoding/json.
func TestScanRequestOfChangedTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	m, bank := midGame(t), int64(5)
	r := m.Request(m.Asks()[0])
	r.BankMs = &bank
	r.View.OpenTrade = &OpenTrade{From: 1, Give: Counts{1}, Get: Counts{0, 2}, To: new(int), Talk: "a \"b\" ü"}
	r.View.Awards = Awards{LargestArmy: new(int), LongestRoad: new(int)}
	checkScan(t, r)
	text := string(r.AppendJSON(nil))
	accepted := 0
	var scanner RequestScanner
	for range 20000 {
		at := rng.IntN(len(text))
		piece := text[at:min(len(text), at+rng.IntN(3))]
		changed := text[:at] + string(` 0-1e.9"\,:[]{}nxü`[rng.IntN(19)]) + strings.TrimPrefix(text[at:], piece)
		got, ok := scanner.Scan([]byte(changed))
		if !ok {
			continue
		}
		accepted++
		var want Request
		require.NoError(t, json.Unmarshal([]byte(changed), &want), changed)
		require.Equal(t, want, got, changed)
	}
	require.Positive(t, accepted)
}

func TestScanRequestRefuses(t *testing.T) {
	var scanner RequestScanner
	m := midGame(t)
	r := m.Request(m.Asks()[0])
	text := string(r.AppendJSON(nil))
	for name, changed := range map[string]string{
		"nothing":          "",
		"half a text":      text[:len(text)/2],
		"more text":        text + "{}",
		"a new field":      strings.Replace(text, `"mode"`, `"new":1,"mode"`, 1),
		"another order":    strings.Replace(text, `"seat":3,"seatCount":4`, `"seatCount":4,"seat":3`, 1),
		"white space":      strings.Replace(text, `,"mode"`, `, "mode"`, 1),
		"invalid UTF-8":    strings.Replace(text, `"hello `, "\"hello \xff", 1),
		"half a pair":      strings.Replace(text, `"hello `, `"hello \ud800`, 1),
		"a control":        strings.Replace(text, `"hello `, "\"hello \n", 1),
		"a leading zero":   strings.Replace(text, `"turn":40`, `"turn":040`, 1),
		"a large number":   strings.Replace(text, `"turn":40`, `"turn":99999999999999999999`, 1),
		"a fraction":       strings.Replace(text, `"turn":40`, `"turn":40.0`, 1),
		"too many cards":   strings.Replace(text, `"hand":{"wool":3`, `"hand":{"wool":70000`, 1),
		"another resource": strings.Replace(text, `"hand":{"wool"`, `"hand":{"gold"`, 1),
	} {
		require.NotEqual(t, text, changed, name)
		_, ok := scanner.Scan([]byte(changed))
		require.False(t, ok, name)
	}
}

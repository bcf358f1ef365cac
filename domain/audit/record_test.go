package audit_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
)

// The function small() returns the short record of a match that was aborted in its
// first turns.
func small(t testing.TB) []byte {
	t.Helper()
	for chance := uint64(1); ; chance++ {
		record := sample.New(sample.Options{Chance: chance, Bots: 3, Mischief: 20, Abort: 1}).Tick()[0]
		if len(record) < 16_000 {
			return record
		}
	}
}

func TestParseRejectsOtherTexts(t *testing.T) {
	record := string(small(t))
	for name, text := range map[string]string{
		"nothing":                      "",
		"invalid JSON":                 "{",
		"two values":                   record + record,
		"an array":                     "[]",
		"not UTF-8":                    strings.Replace(record, `"standard"`, "\"\xff\"", 1),
		"a key twice":                  strings.Replace(record, `{`, `{"id":"x",`, 1),
		"half a pair":                  strings.Replace(record, `"standard"`, `"\ud800"`, 1),
		"no status":                    strings.Replace(record, `"status"`, `"state"`, 1),
		"an unknown status":            strings.Replace(record, `"aborted"`, `"lost"`, 1),
		"a seed in capitals":           strings.Replace(record, `"seed":"`, `"seed":"A`, 1),
		"no seed":                      strings.Replace(record, `"seed":"`, `"seed":null,"was":"`, 1),
		"no players":                   strings.Replace(record, `"players":[`, `"players":[],"others":[`, 1),
		"a fraction":                   strings.Replace(record, `"seat":0`, `"seat":0.5`, 1),
		"a proof of nothing":           strings.Replace(record, `"proof":{`, `"proof":{},"was":{`, 1),
		"a proof without a commitment": strings.Replace(record, `"commitment"`, `"promise"`, 1),
		"too large a number":           strings.Replace(record, `"revision":0`, `"revision":99999999999999999999`, 1),
		"a negative revision":          strings.Replace(record, `"revision":0`, `"revision":-1`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, record, text)
			_, err := audit.Parse([]byte(text))
			require.Error(t, err)
		})
	}
	_, err := audit.Parse([]byte(strings.Replace(record, `{`, `{"later":{"a":[1,{"b":"}"}]},`, 1)))
	require.NoError(t, err, "a later version may add fields to a record")
}

func TestARunningMatchIsReported(t *testing.T) {
	r, err := audit.Parse([]byte(`{"id":"m","mode":"standard","status":"running","players":[{"seat":0,"botId":"a"},{"seat":1,"botId":"b"},{"seat":2,"botId":"c"}],
		"startedAt":"2026-09-06T12:00:00.000Z","endedAt":null,"seed":null,"replay":[],"commitment":"` + strings.Repeat("0", 64) + `"}`))
	require.NoError(t, err)
	require.True(t, r.Running())
	require.NotPanics(t, func() { audit.Match(r, audit.Evidence{}) })
}

// Pretty-printing a record does not change the result of its audit.
func TestWhiteSpaceDoesNotMatter(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, small(t), "", "  "))
	require.Nil(t, verify(t, b.Bytes(), audit.Evidence{}).Difference)
}

// The record of a match that no arena seated has a seed but no proof.
func TestAMatchWithoutAProof(t *testing.T) {
	f := open(t, small(t))
	delete(f.object, "proof")
	delete(f.object, "commitment")
	text, err := json.Marshal(f.object)
	require.NoError(t, err)
	require.Nil(t, verify(t, text, audit.Evidence{}).Difference)
	require.NotNil(t, verify(t, text, audit.Evidence{Required: true}).Difference)
}

// FuzzMatch checks that no input makes the audit panic, and that a second audit
// has the same result.
func FuzzMatch(f *testing.F) {
	record := small(f)
	f.Add(record)
	f.Add(bytes.Replace(record, []byte(`"dice":[`), []byte(`"dice":[9,`), 1))
	f.Add(bytes.Replace(record, []byte(`"settlement":`), []byte(`"settlement":9`), 1))
	f.Add([]byte(`{"id":"","mode":"","status":"completed","players":[{"seat":0,"botId":""},{"seat":0,"botId":""},{"seat":0,"botId":""}],"startedAt":"","seed":"` + strings.Repeat("0", 64) + `","replay":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := audit.Parse(text)
		if err != nil {
			return
		}
		first := audit.Match(r, audit.Evidence{Required: true, PlatformKey: sample.PlatformKey})
		require.Equal(t, first, audit.Match(r, audit.Evidence{Required: true, PlatformKey: sample.PlatformKey}))
	})
}

// FuzzLadder checks that no event makes a ladder panic.
func FuzzLadder(f *testing.F) {
	for _, e := range storedLadder(f)[:8] {
		data, err := json.Marshal(e.data)
		require.NoError(f, err)
		f.Add(e.name, data)
	}
	first := storedLadder(f)[0]
	begin, err := json.Marshal(first.data)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		l := audit.NewLadder("standard", sample.PlatformKey)
		require.NoError(t, l.Add(0, first.at, first.name, begin))
		if err := l.Add(1, first.at, name, data); err != nil {
			require.Equal(t, 1, l.Totals.Events)
		}
	})
}

// A time has only one format.
func TestTimesAreWrittenInOneWay(t *testing.T) {
	record := string(small(t))
	at := open(t, []byte(record)).event(0)["at"].(string)
	for _, other := range []string{
		strings.Replace(at, ".", ",", 1), strings.Replace(at, "T12", "T9", 1), strings.Replace(at, "Z", "+00:00", 1),
		strings.Replace(at, "2026-09", "2026-13", 1), at[:19] + "Z", "", strings.ToLower(at),
	} {
		require.NotEqual(t, at, other)
		d := verify(t, []byte(strings.Replace(record, `"at":"`+at, `"at":"`+other, 1)), audit.Evidence{}).Difference
		require.NotNil(t, d, other)
		require.Equal(t, 1, d.Seq, other)
	}
}

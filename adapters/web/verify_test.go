package web_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/beacon"
	"hexarena/eventstore/logtest"
	"hexarena/projections/signedlog"
)

// The type fresh contains a match for the checker modules, and forgeries of the match.
type fresh struct {
	Record      string    `json:"record"`
	PlatformKey string    `json:"platformKey"`
	SeedKeys    []seedKey `json:"seedKeys"`
	Forgeries   []forgery `json:"forgeries"`
}

type seedKey struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
	Key  string `json:"key"`
}

type forgery struct {
	Name   string `json:"name"`
	Forged string `json:"forged"`
	Seq    int    `json:"seq"` // the number of the event at which arena verify finds the forgery
}

// The variable tampered contains replacements in the JSON text of a record. Each entry
// replaces the first occurrence of a string.
var tampered = map[string][2]string{
	"a die":         {`"dice":[`, `"dice":[9`},
	"a seat":        {`"kind":"action","seat":0`, `"kind":"action","seat":1`},
	"a default":     {`"default":true`, `"default":false`},
	"a strike":      {`"strikes":1`, `"strikes":2`},
	"a score":       {`"scores":[`, `"scores":[1`},
	"a nonce":       {`"nonces":["`, `"nonces":["x`},
	"an end":        {`"reason":"stalemate"`, `"reason":"win"`},
	"a fraction":    {`"turn":2,`, `"turn":2.0,`},
	"a field":       {`"kind":"roll",`, `"kind":"roll","more":1,`},
	"a thinking":    {`"thinkingMs":[`, `"thinkingMs":[1`},
	"a seat's bot":  {`"players":[{"seat":0,"botId":"0`, `"players":[{"seat":0,"botId":"1`},
	"a doubled seq": {`"seq":9,`, `"seq":8,`},
	"a signature":   {`"signature":"0`, `"signature":"1`},
	"a short one":   {`"signature":"0`, `"signature":"`},
	"randomness":    {`"randomness":"`, `"randomness":"00`},
	"no beacon":     {`"beacon":`, `"former":`},
}

// forgeriesOf returns the forgeries of a record. Each has the number of the event
// at which package audit finds the forgery.
func forgeriesOf(t *testing.T, record []byte) []forgery {
	var list []forgery
	for name, change := range tampered {
		forged := bytes.Replace(record, []byte(change[0]), []byte(change[1]), 1)
		r, err := audit.Parse(forged)
		if bytes.Equal(forged, record) || err != nil {
			continue
		}
		if name == "a nonce" && bytes.Contains(record, []byte(`"beacon":{`)) {
			continue // not part of the seed: only the signed log and the bot's owner can detect this
		}
		d := audit.Match(r, audit.Evidence{PlatformKey: sample.PlatformKey, Required: true}).Difference
		require.NotNil(t, d, name)
		list = append(list, forgery{name, string(forged), d.Seq})
	}
	return list
}

// loggedMatch returns a match with the proof that it is in the signed log, and heads of
// that log at smaller and larger sizes. Two heads belong to another log. It writes the
// tiles of the ladder's tree into a folder.
func loggedMatch(t *testing.T, tiles string) []byte {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, ed25519.SeedSize))
	platform := base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
	played := sample.New(sample.Options{Chance: 4, Bots: 11, PlatformKey: platform})
	records := played.Tick()
	require.Len(t, records, 3)
	h := rfc6962.DefaultHasher
	var leaves [][]byte
	for _, record := range records {
		leaf, err := signedlog.Leaf(record)
		require.NoError(t, err)
		leaves = append(leaves, h.HashLeaf(leaf))
	}
	head := func(size uint64, root []byte) string {
		signed, err := signedlog.Sign(signedlog.Head{Origin: "arena.example/log/standard", Size: size, Root: root}, key)
		require.NoError(t, err)
		return string(signed)
	}
	a, b, c, d := leaves[0], leaves[1], leaves[2], h.HashLeaf([]byte("a later match"))
	ab := h.HashChildren(a, b)
	withBeacon := sample.New(sample.Options{Chance: 4, Bots: 4, PlatformKey: platform, Beacon: unsigned()}).Tick()[0]
	leaf, err := signedlog.Leaf(withBeacon)
	require.NoError(t, err)
	b, err = json.Marshal(map[string]any{
		"id": idOf(t, records[1]), "record": string(records[1]), "platformKey": platform,
		"head": head(3, h.HashChildren(ab, c)), "empty": head(0, h.EmptyRoot()), "earlier": head(2, ab),
		"later": head(4, h.HashChildren(ab, h.HashChildren(c, d))), "forked2": head(2, h.HashChildren(b, a)), "forked3": head(3, h.HashChildren(ab, d)),
		"beacon": map[string]any{ // a match in a log of its own
			"id": idOf(t, withBeacon), "record": string(withBeacon),
			"head": head(1, h.HashLeaf(leaf)), "inclusion": map[string]any{"index": 0, "size": 1, "hashes": [][]byte{}},
		},
		"ladder":      ladderOf(t, played.Ladder, key, tiles),
		"consistency": map[string]any{"from=2&to=3": [][]byte{c}, "from=3&to=4": [][]byte{c, d, ab}},
		"inclusion":   map[string]any{"index": 1, "size": 3, "hashes": [][]byte{leaves[0], leaves[2]}},
	})
	require.NoError(t, err)
	return b
}

func idOf(t *testing.T, record []byte) string {
	var named struct{ ID string }
	require.NoError(t, json.Unmarshal(record, &named))
	return named.ID
}

// The function unsigned() returns a beacon with made-up signatures. The modules do not
// check them.
func unsigned() *sample.Beacon {
	return &sample.Beacon{Chain: beacon.Quicknet(), Sign: func(round uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 40), round) }}
}

// Node.js tests the checker modules with the vectors of docs/audit and with fresh
// matches. The checker must find the same differences as package audit.
func TestCheckerModules(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node: run make deps")
	}
	hash := sample.SeedKeyHash()
	chance := logtest.Seed(t)
	var written bytes.Buffer
	forged := 0
	for n := 0; n < 10; chance++ {
		o := sample.Options{Chance: chance, Bots: 7, Mischief: int(chance % 5), Build: chance%3 > 0, Abort: 6}
		if n%4 == 0 {
			o.Beacon = unsigned()
		}
		a := sample.New(o)
		for _, record := range a.Tick() {
			f := fresh{string(record), sample.PlatformKey, []seedKey{{sample.SeedKeyID, hex.EncodeToString(hash[:]), hex.EncodeToString(sample.SeedKey)}}, []forgery{}}
			if n < 4 {
				f.Forgeries = forgeriesOf(t, record)
				forged += len(f.Forgeries)
			}
			line, err := json.Marshal(f)
			require.NoError(t, err)
			written.Write(append(line, '\n'))
			n++
		}
	}
	require.Greater(t, forged, 20)
	name := filepath.Join(t.TempDir(), "fresh.jsonl")
	require.NoError(t, os.WriteFile(name, written.Bytes(), 0o600))
	logged := filepath.Join(t.TempDir(), "logged.json")
	tiles := t.TempDir()
	require.NoError(t, os.WriteFile(logged, loggedMatch(t, tiles), 0o600))
	files := []string{filepath.Join("testdata", "verify", "verify.test.mjs"), filepath.Join("testdata", "verify", "page.test.mjs")}
	run := exec.CommandContext(t.Context(), node, append([]string{"--test", "--test-reporter=tap"}, files...)...)
	run.Env = append(os.Environ(), "FRESH="+name, "LOGGED="+logged, "TILES="+tiles)
	told, err := run.CombinedOutput()
	require.NoError(t, err, string(told))
	require.Contains(t, string(told), "# fail 0")
	require.NotContains(t, string(told), "# tests 0")
	t.Logf("%d forgeries of fresh matches", forged)
}

// The rules are only in the checker's modules, whose names begin with verify. The other
// modules import none of them, and the checker imports only the geometry of the board
// from the other modules (docs/adr/0030-a-replay-shows-one-frame-at-a-time.md).
func TestModulesOfTheCheckerAreSeparate(t *testing.T) {
	imported := regexp.MustCompile(`(?:from|import)\s*\(?\s*['"]\./([^'"]+)['"]`)
	files, err := filepath.Glob(filepath.Join("static", "*.mjs"))
	require.NoError(t, err)
	shared := map[string]bool{}
	ofChecker := func(name string) bool { return strings.HasPrefix(name, "verify") }
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range imported.FindAllSubmatch(text, -1) {
			name, target := filepath.Base(file), string(found[1])
			switch {
			case !ofChecker(name):
				require.False(t, ofChecker(target), "%s imports %s", name, target)
			case !ofChecker(target):
				shared[target] = true
			}
		}
	}
	require.Equal(t, map[string]bool{"board-geometry.mjs": true}, shared)
}

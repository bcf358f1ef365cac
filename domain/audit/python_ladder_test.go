package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/adapters/drand"
	"hexarena/adapters/drand/drandtest"
	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
	"hexarena/projections/signedlog"
)

// signedBeacon is a beacon with real BLS keys.
func signedBeacon() *sample.Beacon {
	relay := drandtest.New("whole ladders", 3*time.Second)
	chain := relay.Chain()
	chain.Genesis = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &sample.Beacon{Chain: chain.WithHash(), Sign: func(round uint64) []byte {
		signature, err := hex.DecodeString(relay.Round(round).Signature)
		if err != nil {
			panic(err) // never happens: the relay wrote it in hex
		}
		return signature
	}}
}

// The type whole is a ladder with its records, as an arena serves them.
type whole struct {
	*sample.Arena

	dir     string
	beacon  *sample.Beacon
	records [][]byte
	files   []string
}

// playWhole plays a ladder until a number of matches are rated. The ladder contains
// ties, strikes, missed matches, reactivated bots, aborts for both reasons, and matches
// that were voided because their beacon round did not appear. The parameter every says
// which records the files contain: 1 means all of them, and n means every n-th one,
// starting with the first.
func playWhole(t testing.TB, rated, every int) *whole {
	t.Helper()
	w := &whole{dir: t.TempDir(), beacon: signedBeacon()}
	w.Arena = sample.New(sample.Options{
		Chance: logtest.Seed(t), Bots: 19, Mischief: 3, Build: true, Abort: 9, Orders: true, Absent: 2, Activate: 40, Lost: 17, Rest: 90 * time.Second, Beacon: w.beacon,
	})
	for count := 0; count < rated; {
		w.records = append(w.records, w.Tick()...)
		count = 0
		for _, e := range w.Events {
			if e.EventType() == "RatingsChanged" {
				count++
			}
		}
	}
	w.save(t, every)
	return w
}

func (w *whole) write(t testing.TB, name string, text []byte) {
	t.Helper()
	name = filepath.Join(w.dir, name)
	require.NoError(t, os.WriteFile(name, text, 0o644))
	w.files = append(w.files, name)
}

func inJSON(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// pageEvent is an event as GET /ladder/{mode}/events shows it.
type pageEvent struct {
	Revision int    `json:"revision"`
	Type     string `json:"type"`
	At       string `json:"at"`
	Data     string `json:"data"`
}

// pageEvents returns the events of a ladder in the form in which an arena shows them.
func pageEvents(t testing.TB, l *sample.Ladder) (events []pageEvent) {
	t.Helper()
	for i, e := range l.Events {
		events = append(events, pageEvent{i, e.EventType(), l.Times[i].Format(match.TimeFormat), string(inJSON(t, e))})
	}
	return events
}

// entryOf returns an entry of the ladder's tree, as docs/audit.md describes it.
// leaf is in hex, or empty.
func entryOf(e pageEvent, leaf string) []byte {
	if leaf != "" {
		leaf = `"leaf":"` + leaf + `",`
	}
	return fmt.Appendf(nil, `{%s"revision":%d,"sha256":"%x","type":"%s"}`, leaf, e.Revision, sha256.Sum256([]byte(e.Data)), e.Type)
}

// leavesOf returns the hash of the leaf of each record, in hex.
func leavesOf(t testing.TB, records [][]byte) map[string]string {
	t.Helper()
	leaves := map[string]string{}
	for _, record := range records {
		leaf, err := signedlog.Leaf(record)
		require.NoError(t, err)
		var id struct{ ID string }
		require.NoError(t, json.Unmarshal(record, &id))
		leaves[id.ID] = hex.EncodeToString(rfc6962.DefaultHasher.HashLeaf(leaf))
	}
	return leaves
}

// matchOf returns the id of the match that an event ends, or an empty string.
func matchOf(e ladder.Event) string {
	switch e := e.(type) {
	case ladder.RatingsChanged:
		return e.MatchID
	case ladder.MatchVoided:
		return e.MatchID
	}
	return ""
}

var platformKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))

// checkpointOf returns the signed checkpoint of a tree of entries.
func checkpointOf(t testing.TB, entries [][]byte) []byte {
	t.Helper()
	tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for _, e := range entries {
		require.NoError(t, tree.Append(rfc6962.DefaultHasher.HashLeaf(e), nil))
	}
	root, err := tree.GetRootHash(nil)
	require.NoError(t, err)
	signed, err := signedlog.Sign(signedlog.Head{Origin: "arena.example/ladder/standard", Size: tree.End(), Root: root}, platformKey)
	require.NoError(t, err)
	return signed
}

// save writes the responses of an arena to files.
func (w *whole) save(t testing.TB, every int) {
	t.Helper()
	events, leaves := pageEvents(t, w.Ladder), leavesOf(t, w.records)
	const limit = 500
	for from := 0; from < len(events); from += limit {
		page := events[from:min(from+limit, len(events))]
		w.write(t, fmt.Sprintf("events-%d", from), inJSON(t, map[string]any{"mode": ladder.Standard, "size": len(events), "events": page, "next": nil}))
	}
	var entries [][]byte
	var bundle []byte
	for i, e := range events {
		entry := entryOf(e, leaves[matchOf(w.Events[i])])
		entries = append(entries, entry)
		bundle = append(binary.BigEndian.AppendUint16(bundle, uint16(len(entry))), entry...)
		if len(entries)%256 == 0 || len(entries) == len(events) {
			w.write(t, fmt.Sprintf("entries-%d", i/256), bundle)
			bundle = nil
		}
	}
	w.write(t, "checkpoint", checkpointOf(t, entries))
	w.write(t, "arena.json", inJSON(t, map[string]any{"publicKey": sample.PlatformKey, "beacon": w.beacon.Info()}))
	w.write(t, "keys", inJSON(t, seedKeys()))
	var kept [][]byte
	for i := 0; i < len(w.records); i += every {
		kept = append(kept, w.records[i])
	}
	w.records = kept
	w.write(t, "matches.jsonl", append(bytes.Join(kept, []byte("\n")), '\n'))
}

// The method audited() folds the ladder and checks every record with the arena's own
// checker.
func (w *whole) audited(t testing.TB) audit.LadderTotals {
	t.Helper()
	var parsed []*audit.Record
	var ids []string
	for _, record := range w.records {
		r, err := audit.Parse(record)
		require.NoError(t, err)
		parsed, ids = append(parsed, r), append(ids, r.ID)
	}
	l := audit.NewLadder(ladder.Standard, sample.PlatformKey, ids...)
	l.Beacons = []audit.Beacon{{Chain: w.beacon.Chain, Verify: drand.Verify}}
	l.SeedKeys = map[string]audit.SeedKey{sample.SeedKeyID: {Hash: sample.SeedKeyHash(), Key: sample.SeedKey}}
	for _, e := range pageEvents(t, w.Ladder) {
		require.NoError(t, l.Add(uint64(e.Revision), w.Times[e.Revision], e.Type, []byte(e.Data)))
	}
	for _, r := range parsed {
		report := audit.Match(r, audit.Evidence{PlatformKey: sample.PlatformKey, SeedKeys: l.SeedKeys, Ladder: l, Beacons: l.Beacons, Required: true})
		require.Nil(t, report.Difference)
	}
	return l.Totals
}

func agreeOnAWholeLadder(t *testing.T, rated, every int) {
	t.Helper()
	w := playWhole(t, rated, every)
	totals := w.audited(t)
	require.GreaterOrEqual(t, totals.Rated, rated)
	require.Greater(t, len(w.Events), 500, "more than one page")
	for _, why := range []string{ladder.WhyBeacon, ladder.WhyOperator, ladder.WhyWallClock} {
		require.Positive(t, totals.Voids[why], why)
	}
	out, status := python(t, append([]string{"--ladder", ladder.Standard}, w.files...)...)
	require.Zero(t, status, "%.2000s", out)
	require.Equal(t, fmt.Sprintf(`ok ladder-standard %d events, %d in the tree; %d tables; %d rated; %d voided (beacon %d, operator %d, wall_clock %d); %d of %d seatings repeated; %d rounds; %d commitments; %d matches
not checked: signatures: arena verify checks them
`, totals.Events, totals.Events, totals.Tables, totals.Rated, totals.Voided, totals.Voids["beacon"], totals.Voids["operator"], totals.Voids["wall_clock"],
		totals.Repeated, totals.Seatings, totals.Rounds, totals.Commitments, len(w.records)), out)
	t.Log(strings.TrimSpace(out))
}

// Both checkers agree on a ladder of 350 rated matches, its tree, and a sample of its
// records. Its events fill more than one page, and its tree fills more than one bundle.
func TestPythonAgreesOnAWholeLadder(t *testing.T) { agreeOnAWholeLadder(t, 350, 7) }

// Both checkers also agree on a ladder of 1,000 rated matches and on all its records.
func TestAuditLongPythonAgreesOnAWholeLadder(t *testing.T) {
	if os.Getenv("ARENA_AUDIT") == "" {
		t.Skip("takes a minute: run make audit-long")
	}
	agreeOnAWholeLadder(t, 1000, 1)
}

// The Python checker finds a change to a single bit of any file. The only exceptions are
// the parts that no hash covers: the times of a ladder's events, the origin and the
// signature of the checkpoint, and the thinking times, which no leaf contains.
func TestPythonFindsAChangedBit(t *testing.T) {
	w := playWhole(t, 12, 1)
	rng := logtest.Random(t)
	for name, committed := range map[string]*regexp.Regexp{
		"events-0":      regexp.MustCompile(`"data":"(?:[^"\\]|\\.)*"`),
		"entries-0":     regexp.MustCompile(`(?s).*`),
		"checkpoint":    regexp.MustCompile(`\n\d+\n.*=\n\n`),
		"matches.jsonl": regexp.MustCompile(`\{"id":.*"thinkingMs"`),
	} {
		name = filepath.Join(w.dir, name)
		whole, err := os.ReadFile(name)
		require.NoError(t, err)
		spans := committed.FindAllIndex(whole, -1)
		for range 3 {
			text, span := bytes.Clone(whole), spans[rng.IntN(len(spans))]
			at, bit := span[0]+rng.IntN(span[1]-span[0]), rng.IntN(8)
			text[at] ^= 1 << bit
			if sameEscape(text, whole, at) {
				continue
			}
			require.NoError(t, os.WriteFile(name, text, 0o644))
			out, problems, status := runPython(t, append([]string{"--ladder", ladder.Standard}, w.files...)...)
			require.NotZero(t, status, "bit %d of byte %d of %s: %.500s", bit, at, name, out)
			require.NotContains(t, problems, "Traceback")
		}
		require.NoError(t, os.WriteFile(name, whole, 0o644))
	}
}

// sameEscape reports whether a flipped bit only changes the case of a hex digit in a
// JSON escape, which leaves the value unchanged.
func sameEscape(text, whole []byte, at int) bool {
	return bytes.EqualFold(text[at:at+1], whole[at:at+1]) && regexp.MustCompile(`\\u[0-9a-fA-F]{1,4}$`).Match(whole[max(0, at-5):at+1])
}

// If the last bit of a rating or the reason for a void is forged, both checkers find
// the forgery at the same revision.
func TestPythonFindsForgedEventsOfALadder(t *testing.T) {
	w := playWhole(t, 12, 1)
	number := regexp.MustCompile(`"(?:mu|sigma)":([0-9.]+)`)
	found := 0
	for i, e := range pageEvents(t, w.Ladder) {
		forged := e.Data
		switch e.Type {
		case "RatingsChanged":
			all := number.FindAllStringSubmatchIndex(e.Data, -1)
			at := all[i%len(all)]
			value, err := strconv.ParseFloat(e.Data[at[2]:at[3]], 64)
			require.NoError(t, err)
			forged = e.Data[:at[2]] + string(inJSON(t, above(value))) + e.Data[at[3]:]
		case "MatchVoided":
			forged = strings.Replace(e.Data, `"why":"`, `"why":"no_`, 1)
		case "TablesSeated":
			forged = strings.Replace(e.Data, `"restMs":90000`, `"restMs":9000000`, 1)
		}
		if forged == e.Data || i > 40 {
			continue
		}
		at, err := w.foldForged(t, i, forged)
		if err == nil {
			continue // at the forged seating, nobody had played yet
		}
		found++
		out, status := python(t, "--ladder", ladder.Standard, w.forgedFile(t, i, forged), filepath.Join(w.dir, "arena.json"))
		require.Equal(t, 1, status, out)
		require.Contains(t, out, fmt.Sprintf("DIFFERS ladder-standard@%d: ", at))
	}
	require.Greater(t, found, 12)
}

func TestPythonCountsSuspiciousSeatings(t *testing.T) {
	list, seatings := suspiciousLadder(t)
	out, status := pythonOn(t, list)
	require.Zero(t, status, out)
	require.Contains(t, out, fmt.Sprintf(`; 8 rated; 0 voided; 4 of 4 seatings repeated; 3 rounds; 8 commitments; 0 matches
the bots' rest time changed: 5, 0 ms
WARNING: 1 seatings (the first at revision %d) have an earlier tick than the previous seating
WARNING: 1 seatings (the first at revision %d) name no round, but an earlier seating does
WARNING: 1 seatings (the first at revision %d) were stored after their round had appeared
not checked: `, seatings[3], seatings[3], seatings[1]))
	require.NotContains(t, out, "seed keys")
	out, status = python(t, "--ladder", ladder.Standard, pageOf(t, list), arenaFile(t))
	require.Zero(t, status, out)
	require.Contains(t, out, "; 0 commitments; ")
	require.Contains(t, out, "; seed keys: the response of /log/keys is missing; ")
}

// pythonOn checks stored events with the Python checker, using the same chain and
// seed key as foldWith.
func pythonOn(t testing.TB, list []stored) (out string, status int) {
	t.Helper()
	return python(t, "--ladder", ladder.Standard, pageOf(t, list), arenaFile(t), file(t, inJSON(t, seedKeys())))
}

// pythonDiffers requires that the Python checker finds the first difference at the
// given revision.
func pythonDiffers(t testing.TB, list []stored, revision int) {
	t.Helper()
	out, status := pythonOn(t, list)
	require.Equal(t, 1, status, out)
	require.Contains(t, out, fmt.Sprintf("DIFFERS ladder-standard@%d: ", revision))
}

// pageOf writes stored events as one page.
func pageOf(t testing.TB, list []stored) string {
	t.Helper()
	var events []pageEvent
	for i, e := range list {
		events = append(events, pageEvent{i, e.name, e.at.Format(match.TimeFormat), string(inJSON(t, e.data))})
	}
	return file(t, inJSON(t, map[string]any{"mode": ladder.Standard, "events": events}))
}

func arenaFile(t testing.TB) string {
	t.Helper()
	return file(t, inJSON(t, map[string]any{"publicKey": sample.PlatformKey, "beacon": fakeChain().Info()}))
}

// seedKeys returns the response of /log/keys.
func seedKeys() map[string]any {
	return map[string]any{"keys": []any{map[string]any{"id": sample.SeedKeyID, "hash": sample.SeedKeyHash(), "key": hex.EncodeToString(sample.SeedKey)}}}
}

// foldForged recomputes the ladder with one forged event. It returns the revision
// of the first difference.
func (w *whole) foldForged(t testing.TB, index int, forged string) (revision int, err error) {
	t.Helper()
	l := audit.NewLadder(ladder.Standard, sample.PlatformKey)
	for i, e := range pageEvents(t, w.Ladder) {
		if i == index {
			e.Data = forged
		}
		if err := l.Add(uint64(i), w.Times[i], e.Type, []byte(e.Data)); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// forgedFile writes the ladder with one forged event as one page.
func (w *whole) forgedFile(t testing.TB, index int, forged string) string {
	t.Helper()
	events := pageEvents(t, w.Ladder)
	events[index].Data = forged
	return file(t, inJSON(t, map[string]any{"mode": ladder.Standard, "events": events}))
}

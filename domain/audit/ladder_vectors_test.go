package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/drand"
	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/projections/signedlog"
)

// ladderVectors holds the test vectors for the beacon, for ladders and for their
// trees.
type ladderVectors struct {
	BeaconSeeds     []beaconSeedVector    `json:"beaconSeeds"`
	Rounds          []roundVector         `json:"rounds"`
	Ladders         []ladderVector        `json:"ladders"`
	LadderForgeries []ladderForgeryVector `json:"ladderForgeries"`
}

type (
	beaconSeedVector struct {
		ServerSeed seed.Seed    `json:"serverSeed"`
		Beacon     beacon.Round `json:"beacon"`
		Seed       seed.Seed    `json:"seed"`
	}
	roundVector struct {
		Beacon beacon.Info `json:"beacon"`
		Tick   string      `json:"tick"`
		Round  uint64      `json:"round"`
	}
	ladderVector struct {
		Mode        string      `json:"mode"`
		PlatformKey string      `json:"platformKey"` // of the ids
		Beacon      beacon.Info `json:"beacon"`
		SeedKeys    []keyVector `json:"seedKeys"`
		Events      []pageEvent `json:"events"`
		Entries     []string    `json:"entries"`
		Root        string      `json:"root"` // base64
		VerifierKey string      `json:"verifierKey"`
		Checkpoint  string      `json:"checkpoint"`
	}
	keyVector struct {
		ID   string `json:"id"`
		Hash string `json:"hash"`
		Key  string `json:"key"`
	}
	ladderForgeryVector struct {
		Name     string `json:"name"`
		Ladder   int    `json:"ladder"`
		Event    int    `json:"event"`
		Data     string `json:"data"`
		Revision int    `json:"revision"`
	}
)

// publishedRounds holds the signatures of two rounds of quicknet, as drand
// published them.
var publishedRounds = []struct {
	round     uint64
	signature string
}{
	{1000, "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"},
	{1001, "b33bf3667cbd5a82de3a24b4e0e9fe5513cc1a0e840368c6e31f5fcfa79bea03f73896b25883abf2853d10337fb8fa41"},
}

func (v *ladderVectors) addLadders(t testing.TB) {
	t.Helper()
	quicknet := beacon.Quicknet()
	for _, p := range publishedRounds {
		signature, err := hex.DecodeString(p.signature)
		require.NoError(t, err)
		r := beacon.NewRound(beacon.Named{Chain: quicknet.Hash, Round: p.round}, signature)
		require.NoError(t, drand.Verify(quicknet, r))
		server := seed.Server(sample.SeedKey, p.signature)
		v.BeaconSeeds = append(v.BeaconSeeds, beaconSeedVector{server, r, match.SeedOf(server, nil, &r)})
	}
	for _, after := range []time.Duration{-time.Hour, -6 * time.Second, -5999 * time.Millisecond, 0, time.Millisecond, 2999 * time.Millisecond, 3 * time.Second, 1e6 * time.Hour} {
		tick := quicknet.Genesis.Add(after)
		v.Rounds = append(v.Rounds, roundVector{quicknet.Info(), tick.Format(match.TimeFormat), quicknet.After(tick)})
	}
	absent := sample.New(sample.Options{Chance: 1, Bots: 4, Absent: 1, Build: true, Rest: 30 * time.Second, Beacon: signedBeacon()})
	v.addLadder(t, absent, 13)
	mixed := sample.New(sample.Options{Chance: 1, Bots: 9, Mischief: 3, Abort: 3, Orders: true, Lost: 5, Rest: 90 * time.Second, Beacon: signedBeacon()})
	v.addLadder(t, mixed, 8)
	v.addForgeries(t)
}

// addLadder adds a ladder after the given number of ticks, with its tree.
func (v *ladderVectors) addLadder(t testing.TB, a *sample.Arena, ticks int) {
	t.Helper()
	var records [][]byte
	for range ticks {
		records = append(records, a.Tick()...)
	}
	l := ladderVector{
		Mode: ladder.Standard, PlatformKey: sample.PlatformKey, Beacon: signedBeacon().Info(), Events: pageEvents(t, a.Ladder),
		SeedKeys: []keyVector{{sample.SeedKeyID, sample.SeedKeyHash().String(), hex.EncodeToString(sample.SeedKey)}},
	}
	leaves := leavesOf(t, records)
	var entries [][]byte
	for i, e := range l.Events {
		leaf, err := hex.DecodeString(leaves[matchOf(a.Events[i])])
		require.NoError(t, err)
		if len(leaf) == 0 {
			leaf = nil
		}
		entry := signedlog.Entry(uint64(i), e.Type, []byte(e.Data), leaf)
		require.Equal(t, string(entryOf(e, hex.EncodeToString(leaf))), string(entry))
		entries, l.Entries = append(entries, entry), append(l.Entries, string(entry))
	}
	l.Checkpoint = string(checkpointOf(t, entries))
	l.Root = strings.Split(l.Checkpoint, "\n")[2]
	var err error
	l.VerifierKey, err = signedlog.VerifierKey("arena.example/ladder/standard", platformKey.Public().(ed25519.PublicKey))
	require.NoError(t, err)
	v.Ladders = append(v.Ladders, l)
}

// addForgeries adds forged ladder events, which do not follow from the events before
// them.
func (v *ladderVectors) addForgeries(t testing.TB) {
	t.Helper()
	event := func(l int, name string, nth int, has string) int {
		for i, e := range v.Ladders[l].Events {
			if e.Type == name && strings.Contains(e.Data, has) {
				if nth--; nth < 0 {
					return i
				}
			}
		}
		require.Fail(t, "no such event", "%d of %s in ladder %d", nth, name, l)
		return 0
	}
	add := func(name string, l, index int, forge func(o object)) {
		o := open(t, []byte(v.Ladders[l].Events[index].Data)).object
		forge(o)
		v.LadderForgeries = append(v.LadderForgeries, ladderForgeryVector{name, l, index, string(inJSON(t, o)), index})
	}
	list := func(o object, name string) []any { return o[name].([]any) }
	const first, mixed = 0, 1
	seating := event(first, "TablesSeated", 3, "")
	add("a rest that was not over", first, seating, func(o object) { o["restMs"] = 600_000 })
	add("no candidates", first, seating, func(o object) { delete(o, "candidates") })
	add("a candidate that is listed twice", first, seating, func(o object) { o["candidates"] = append(list(o, "candidates"), list(o, "candidates")[0]) })
	add("candidates in another order", first, seating, func(o object) { slices.Reverse(list(o, "candidates")) })
	add("a backdated round", first, seating, func(o object) {
		o["beacon"].(object)["round"] = number(o["beacon"].(object)["round"]) - 1
	})
	add("another chain", first, seating, func(o object) { o["beacon"].(object)["chain"] = strings.Repeat("0", 64) })
	add("another commitment", first, seating, func(o object) { list(o, "tables")[0].(object)["commitment"] = seed.Seed{1} })
	add("another id", first, seating, func(o object) { list(o, "tables")[0].(object)["matchId"] = "4c31cec2-74ae-5613-8a75-de38fcafde6c" })
	absent := event(first, "TablesSeated", 10, "")
	add("a bot that must rest for 3 h after 10 misses", first, absent, func(o object) {
		bot := v.missing(t, o)
		o["candidates"] = append(list(o, "candidates"), bot)
		table := list(o, "tables")[0].(object)
		table["bots"] = append(list(table, "bots"), bot["botId"])
	})
	waiting := event(mixed, "TablesSeated", 0, "")
	add("the best bot waits", mixed, waiting, func(o object) {
		tables, candidates := list(o, "tables"), list(o, "candidates")
		last := list(tables[len(tables)-1].(object), "bots")
		last[len(last)-1] = candidates[len(candidates)-1].(object)["botId"]
	})
	rated := event(mixed, "RatingsChanged", 1, "")
	add("the last bit of a mu", mixed, rated, func(o object) {
		after := list(o, "seats")[1].(object)["after"].(object)
		after["mu"] = up(after["mu"])
	})
	add("the last bit of a sigma", mixed, rated, func(o object) {
		after := list(o, "seats")[2].(object)["after"].(object)
		after["sigma"] = up(after["sigma"])
	})
	add("a placement that is skipped", mixed, rated, func(o object) { list(o, "seats")[0].(object)["placement"] = 9 })
	add("another order of the table", mixed, rated, func(o object) { slices.Reverse(list(o, "seats")) })
	void := event(mixed, "MatchVoided", 0, "")
	add("an unknown reason", mixed, void, func(o object) { o["why"] = "mood" })
	add("a void of a match that was not seated", mixed, void, func(o object) { o["match"] = "4c31cec2-74ae-5613-8a75-de38fcafde6c" })
}

// The method missing() returns a candidate from the first event of the first ladder.
// The given seating does not list this candidate.
func (v *ladderVectors) missing(t testing.TB, seating object) object {
	t.Helper()
	begin := open(t, []byte(v.Ladders[0].Events[0].Data)).object
	for _, c := range begin["candidates"].([]any) {
		if !slices.ContainsFunc(seating["candidates"].([]any), func(other any) bool { return other.(object)["botId"] == c.(object)["botId"] }) {
			return c.(object)
		}
	}
	require.Fail(t, "every bot is a candidate")
	return nil
}

// The method recomputed() folds the events of a vector. It returns the revision of
// the first difference, or the number of events.
func (l ladderVector) recomputed(t testing.TB) int {
	t.Helper()
	info, err := beacon.ParseInfo(inJSON(t, l.Beacon))
	require.NoError(t, err)
	a := audit.NewLadder(l.Mode, l.PlatformKey)
	a.Beacons, a.SeedKeys = []audit.Beacon{{Chain: info, Verify: drand.Verify}}, map[string]audit.SeedKey{}
	for _, k := range l.SeedKeys {
		key, err := hex.DecodeString(k.Key)
		require.NoError(t, err)
		hash, err := seed.Parse(k.Hash)
		require.NoError(t, err)
		a.SeedKeys[k.ID] = audit.SeedKey{Hash: hash, Key: key}
	}
	for i, e := range l.Events {
		at, err := time.Parse(match.TimeFormat, e.At)
		require.NoError(t, err)
		if err := a.Add(uint64(e.Revision), at, e.Type, []byte(e.Data)); err != nil {
			_, differs := errors.AsType[*audit.LadderDifference](err)
			require.True(t, differs, err)
			return i
		}
	}
	return len(l.Events)
}

// The arena's checker accepts the ladders in the vectors, and finds each forgery at
// the revision that its vector names. The arena's trees have the same heads as the
// vectors.
func TestVectorsOfLadders(t *testing.T) {
	v := readVectors(t)
	for _, l := range v.Ladders {
		require.Equal(t, len(l.Events), l.recomputed(t))
		key, err := base64.StdEncoding.DecodeString(l.VerifierKey[strings.LastIndex(l.VerifierKey, "+")+1:])
		require.NoError(t, err)
		head, err := signedlog.OpenLadder([]byte(l.Checkpoint), l.Mode, key[1:])
		require.NoError(t, err)
		require.EqualValues(t, len(l.Entries), head.Size)
		require.Equal(t, l.Root, base64.StdEncoding.EncodeToString(head.Root))
		var entries [][]byte
		for _, e := range l.Entries {
			entries = append(entries, []byte(e))
		}
		require.True(t, bytes.Equal([]byte(l.Checkpoint), checkpointOf(t, entries)))
	}
	for _, f := range v.LadderForgeries {
		l := v.Ladders[f.Ladder]
		l.Events = slices.Clone(l.Events)
		l.Events[f.Event].Data = f.Data
		require.Equal(t, f.Revision, l.recomputed(t), f.Name)
	}
}

package audit_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// In these tests, the operator is dishonest. docs/audit.md says how each fraud
// becomes visible. The tests of cmd/arena/verify repeat some of these tests over
// HTTP.

// fakeChain is a beacon whose signatures are hashes, because the domain
// packages contain no BLS code.
func fakeChain() beacon.Chain {
	return beacon.Chain{
		PublicKey: make([]byte, beacon.KeySize), Period: 3 * time.Second,
		Genesis: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), ID: "fake",
	}.WithHash()
}

func fakeSignature(round uint64) []byte {
	sum := sha512.Sum512(binary.BigEndian.AppendUint64(nil, round))
	return sum[:beacon.SignatureSize]
}

func fakeVerify(_ beacon.Chain, r beacon.Round) error {
	signature, _, err := r.Decode()
	if err == nil && !bytes.Equal(signature, fakeSignature(r.Round)) {
		err = errors.New("the signature is invalid")
	}
	return err
}

func trusting(c beacon.Chain) []audit.Beacon { return []audit.Beacon{{Chain: c, Verify: fakeVerify}} }

// beaconArena plays one table with the fake beacon.
func beaconArena(t testing.TB) (a *sample.Arena, record []byte) {
	t.Helper()
	a = sample.New(sample.Options{Chance: 5, Bots: 4, Abort: 1, Beacon: &sample.Beacon{Chain: fakeChain(), Sign: fakeSignature}})
	return a, a.Tick()[0]
}

// evidenceOf returns all the evidence that an auditor can have about an arena's
// match.
func evidenceOf(t testing.TB, a *sample.Arena, id string) audit.Evidence {
	t.Helper()
	data, err := json.Marshal(a.Events[0])
	require.NoError(t, err)
	seatings, err := audit.ParseSeatings(0, data)
	require.NoError(t, err)
	return audit.Evidence{
		PlatformKey: sample.PlatformKey, Required: true, Ladder: ladderOf(t, a, id), Seatings: seatings, Beacons: trusting(fakeChain()),
		SeedKeys: map[string]audit.SeedKey{sample.SeedKeyID: {Hash: sample.SeedKeyHash(), Key: sample.SeedKey}},
	}
}

func checkOf(r audit.Report, name string) audit.Check {
	i := slices.IndexFunc(r.Checks, func(c audit.Check) bool { return c.Name == name })
	if i < 0 {
		return audit.Check{}
	}
	return r.Checks[i]
}

func TestAMatchWithABeaconVerifies(t *testing.T) {
	a, record := beaconArena(t)
	r := verify(t, record, evidenceOf(t, a, idOf(t, record)))
	require.Nil(t, r.Difference)
	require.Equal(t, "the beacon", r.SeedFrom)
	require.Equal(t, 3, checkOf(r, audit.CheckBeacon).Count, "the named round, the signature and the time")
	require.Equal(t, 4, checkOf(r, audit.CheckSeating).Count)

	r = verify(t, record, audit.Evidence{})
	require.Nil(t, r.Difference)
	require.False(t, checkOf(r, audit.CheckBeacon).Made)
	require.Contains(t, checkOf(r, audit.CheckBeacon).Because, "no chain was given")
	r = verify(t, record, audit.Evidence{Beacons: trusting(fakeChain())})
	require.Nil(t, r.Difference)
	require.Contains(t, checkOf(r, audit.CheckBeacon).Because, "the seating is unknown")
}

// setRound replaces the round of a record and derives the seed from the new round, as
// a dishonest operator would.
func setRound(t testing.TB, f forged, n uint64, signature []byte) {
	t.Helper()
	round := beacon.NewRound(beacon.Named{Chain: fakeChain().Hash, Round: n}, signature)
	server, err := seed.Parse(f.proof()["serverSeed"].(string))
	require.NoError(t, err)
	f.proof()["beacon"] = round
	f.object["seed"] = match.SeedOf(server, nil, &round)
}

func TestForgedBeaconsAreFound(t *testing.T) {
	a, record := beaconArena(t)
	id := idOf(t, record)
	named := a.Events[0].(ladder.TablesSeated).Beacon.Round
	for name, c := range map[string]struct {
		forge func(f forged, e *audit.Evidence)
		check string
		says  string
	}{
		"left out":               {func(f forged, _ *audit.Evidence) { delete(f.proof(), "beacon") }, audit.CheckBeacon, "the log has no beacon"},
		"a signature not signed": {func(f forged, _ *audit.Evidence) { setRound(t, f, named, fakeSignature(1)) }, audit.CheckBeacon, "signature is invalid"},
		"an earlier round":       {func(f forged, _ *audit.Evidence) { setRound(t, f, named-9, fakeSignature(named-9)) }, audit.CheckBeacon, "expected round"},
		"randomness of its own": {func(f forged, _ *audit.Evidence) {
			b := f.proof()["beacon"].(object)
			b["randomness"] = hex.EncodeToString(make([]byte, 32))
		}, audit.CheckBeacon, "is not the SHA-256"},
		"a seed without it": {func(f forged, _ *audit.Evidence) {
			server, err := seed.Parse(f.proof()["serverSeed"].(string))
			require.NoError(t, err)
			f.object["seed"] = seed.Joint(server, []string{"", "", "", ""})
		}, audit.CheckSeed, ""},
		"another chain": {func(_ forged, e *audit.Evidence) {
			e.Beacons = []audit.Beacon{{Chain: beacon.Quicknet(), Verify: fakeVerify}}
		}, audit.CheckBeacon, "a chain that you trust: quicknet 52db"},
		"a seating without it": {func(_ forged, e *audit.Evidence) {
			s := e.Seatings[id]
			s.Beacon = nil
			e.Seatings[id] = s
		}, audit.CheckBeacon, "expected no beacon"},
		"a round that was known at the tick": {func(_ forged, e *audit.Evidence) {
			s := e.Seatings[id]
			s.Tick = s.Tick.Add(time.Minute)
			e.Seatings[id] = s
		}, audit.CheckBeacon, "at least 2 periods after the tick"},
		"another commitment": {func(_ forged, e *audit.Evidence) {
			s := e.Seatings[id]
			s.Commitment = seed.Seed{1}
			e.Seatings[id] = s
		}, audit.CheckSeating, "the commitment"},
		"a match that was never seated": {func(_ forged, e *audit.Evidence) { delete(e.Seatings, id) }, audit.CheckSeating, "no such table"},
	} {
		t.Run(name, func(t *testing.T) {
			f, e := open(t, record), evidenceOf(t, a, id)
			c.forge(f, &e)
			text, err := json.Marshal(f.object)
			require.NoError(t, err)
			d := verify(t, text, e).Difference
			require.NotNil(t, d)
			t.Log(d)
			require.Equal(t, c.check, d.Check)
			require.ErrorContains(t, d, c.says)
		})
	}
}

// If there is no beacon and no bot at the table sends a nonce, the operator knows
// every seed in advance. The operator can then try seed keys until one gives a
// convenient seed. Every check passes, but the report says that only the arena
// contributed to the seed. With a beacon, trying keys is useless, because the seed
// also depends on a round that does not exist yet.
func TestTryingSeedKeysWithAndWithoutABeacon(t *testing.T) {
	id := ladder.MatchID(sample.PlatformKey, ladder.Standard, 0, 0)
	rolls := func(s seed.Seed) (sevens int) {
		var stream seed.Stream
		for range 2 {
			if stream.Uniform(&s, seed.Dice, 6)+stream.Uniform(&s, seed.Dice, 6)+2 == 7 {
				sevens++
			}
		}
		return sevens
	}
	nonces := []string{"", "", "", ""}
	var chosen []byte
	for i := uint64(0); chosen == nil; i++ {
		key := binary.BigEndian.AppendUint64(nil, i)
		if rolls(seed.Joint(seed.Server(key, id), nonces)) == 2 {
			chosen = key
		}
	}
	server := seed.Server(chosen, id)
	require.Equal(t, 2, rolls(match.SeedOf(server, nonces, nil)), "the operator gets two sevens in a row")

	beaten := 0
	const rounds = 200
	for n := range uint64(rounds) {
		round := beacon.NewRound(beacon.Named{Chain: fakeChain().Hash, Round: n + 1}, fakeSignature(n+1))
		if rolls(match.SeedOf(server, nonces, &round)) < 2 {
			beaten++
		}
	}
	require.Greater(t, beaten, rounds*3/4, "for most rounds, the operator's key does not give two sevens")

	record := sample.New(sample.Options{Chance: 1, Bots: 4, Abort: 1, Silent: true}).Tick()[0]
	r := verify(t, record, audit.Evidence{})
	require.Nil(t, r.Difference)
	require.Equal(t, "the arena only", r.SeedFrom)
}

func TestWhoContributedToASeed(t *testing.T) {
	record := sample.New(sample.Options{Chance: 2, Bots: 4, Abort: 1}).Tick()[0]
	f := open(t, record)
	table, nonces := f.proof()["table"].([]any), f.nonces()
	var sent []string
	for i, n := range nonces {
		if n != "" {
			sent = append(sent, table[i].(string))
		}
	}
	require.Len(t, sent, 3, "three bots of this sample send a nonce")
	for want, house := range map[string]map[string]bool{
		"the arena and at most 3 bots (some may be house bots)": nil,
		"the arena and 3 bots":                                {sent[0]: false, sent[1]: false, sent[2]: false},
		"the arena and 2 bots":                                {sent[0]: false, sent[1]: true, sent[2]: false},
		"the arena and 1 bot":                                 {sent[0]: false, sent[1]: true, sent[2]: true},
		"the arena and at most 1 bot (it may be a house bot)": {sent[0]: true, sent[1]: true},
		"the arena only":                                      {sent[0]: true, sent[1]: true, sent[2]: true},
	} {
		require.Equal(t, want, verify(t, record, audit.Evidence{HouseBots: house}).SeedFrom)
	}
}

// An owner notes the number of the round and the time of the upgrade request.
// If the request came after the round appeared, the arena already knew the
// seed.
func TestNotesOfARound(t *testing.T) {
	a, record := beaconArena(t)
	id := idOf(t, record)
	e := evidenceOf(t, a, id)
	named := a.Events[0].(ladder.TablesSeated).Beacon.Round
	at := fakeChain().Time(named)
	note := func(round uint64, at time.Time) audit.Report {
		text := fmt.Sprintf(`{"match":%q,"bot":%q,"round":%d,"at":%q}`, id, open(t, record).proof()["table"].([]any)[0], round, at.Format(time.RFC3339Nano))
		var err error
		e.Notes, err = audit.ParseNotes([]byte(text))
		require.NoError(t, err)
		return verify(t, record, e)
	}
	r := note(named, at.Add(-time.Second))
	require.Nil(t, r.Difference)
	require.Empty(t, checkOf(r, audit.CheckNonces).Because)
	r = note(named, at.Add(time.Second))
	require.Nil(t, r.Difference)
	require.Contains(t, checkOf(r, audit.CheckNonces).Because, "after its round had appeared")
	r = note(named+1, at.Add(-time.Second))
	require.NotNil(t, r.Difference)
	require.ErrorContains(t, r.Difference, fmt.Sprintf("was shown round %d", named+1))
}

// An operator changes the seatings of a ladder. Each case names the event at which
// both checkers find the change.
func TestDishonestSeatingsAreFound(t *testing.T) {
	ticks := func() *sample.Ladder {
		l := sample.NewBeaconLadder(9, &sample.Beacon{Chain: fakeChain(), Sign: fakeSignature})
		for range 3 {
			l.Tick()
		}
		return l
	}
	list := eventsOf(t, ticks())
	second := slices.IndexFunc(list[1:], func(e stored) bool { return e.name == "TablesSeated" }) + 1
	candidates := func(e stored) []any { return e.data["candidates"].([]any) }
	for name, c := range map[string]struct {
		forge func(list []stored) []stored
		at    int
		says  string
	}{
		"the best bot is listed but left out": {func(l []stored) []stored {
			waiting := candidates(l[second])[8].(object)["botId"]
			bots := tables(l[second])[0].(object)["bots"].([]any)
			copy(bots, append(slices.Clone(bots[1:]), tables(l[second])[1].(object)["bots"].([]any)[0]))
			next := tables(l[second])[1].(object)["bots"].([]any)
			copy(next, append(slices.Clone(next[1:]), waiting))
			return l
		}, second, "from the listed candidates"},
		"a table is left out": {func(l []stored) []stored {
			l[second].data["tables"] = tables(l[second])[:1]
			return l
		}, second, "table 1 with no bots"},
		"the order of the candidates": {func(l []stored) []stored {
			list := candidates(l[second])
			list[0], list[1] = list[1], list[0]
			return l
		}, second, "as candidate 0"},
		"the order of registration": {func(l []stored) []stored {
			first, last := candidates(l[0])[0].(object), candidates(l[0])[8].(object)
			last["registered"] = "2026-09-06T11:59:59.999Z"
			require.Equal(t, "2026-09-06T12:00:00Z", first["registered"])
			return l
		}, 0, "as candidate 0"},
		"a candidate twice": {func(l []stored) []stored {
			l[second].data["candidates"] = append(candidates(l[second]), candidates(l[second])[0])
			return l
		}, second, "twice"},
		"a candidate that rests": {func(l []stored) []stored {
			l[second].data["restMs"] = 3_600_000
			return l
		}, second, "only rested bots"},
		"no candidates any more": {func(l []stored) []stored {
			delete(l[second].data, "candidates")
			return l
		}, second, "earlier seatings list theirs"},
		"a backdated round": {func(l []stored) []stored {
			round := l[second].data["beacon"].(object)
			round["round"] = number(round["round"]) - 3
			return l
		}, second, "at least 2 periods after the tick"},
		"a chain of its own": {func(l []stored) []stored {
			l[second].data["beacon"].(object)["chain"] = "00"
			return l
		}, second, "a chain that you trust"},
		"another seed key": {func(l []stored) []stored {
			l[second].data["seedKey"] = "another"
			return l
		}, second, "a seed key that the arena lists"},
		"a commitment that the key does not give": {func(l []stored) []stored {
			tables(l[second])[0].(object)["commitment"] = seed.Seed{1}.String()
			return l
		}, second, "from the published seed key"},
	} {
		t.Run(name, func(t *testing.T) {
			list := c.forge(eventsOf(t, ticks()))
			l, err := foldWith(t, list)
			require.Error(t, err)
			t.Log(err)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.at, l.Totals.Events)
			pythonDiffers(t, list, c.at)
		})
	}
	l, err := foldWith(t, list)
	require.NoError(t, err)
	require.Equal(t, 3, l.Totals.Seatings)
	require.Equal(t, 3, l.Totals.Repeated)
	require.Equal(t, 3, l.Totals.Rounds)
	require.Equal(t, 6, l.Totals.Beacon)
	require.Equal(t, 6, l.Totals.Commitments)
	require.Empty(t, l.Totals.Warnings)
	require.Equal(t, []int64{0}, l.Totals.Rests)
}

// After ten misses in a row, a bot rests for three hours. Misses before its latest
// change of status do not count. Both checkers reproduce this rest to the
// millisecond.
func TestLongRestsAreRepeated(t *testing.T) {
	const seating, exactly = 20, 3 * time.Hour // the eleventh seating
	for name, c := range map[string]struct {
		rest, changed time.Duration // time since the latest miss and since the first one
		rested        bool
	}{
		"three hours":               {exactly, -time.Hour, true},
		"less":                      {exactly - time.Millisecond, -time.Hour, false},
		"a change before the first": {exactly - time.Millisecond, -time.Millisecond, false},
		"a change at the first":     {time.Minute, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := sample.NewLadder(4)
			for range 11 {
				l.Tick()
			}
			list := eventsOf(t, l)[:seating+1]
			bot := list[seating].data["candidates"].([]any)[2].(object)
			for i := 1; i < seating; i += 2 {
				for _, s := range seats(list[i]) {
					s.(object)["missed"] = s.(object)["botId"] == bot["botId"]
				}
			}
			list[seating].at = list[seating-1].at.Add(c.rest)
			list[seating].data["tick"] = list[seating].at.Format(match.TimeFormat)
			bot["statusChanged"] = list[1].at.Add(c.changed).Format(match.TimeFormat)
			folded, err := foldWith(t, list)
			if c.rested {
				require.NoError(t, err)
				out, status := pythonOn(t, list)
				require.Zero(t, status, out)
				return
			}
			require.ErrorContains(t, err, "only rested bots")
			require.Equal(t, seating, folded.Totals.Events)
			pythonDiffers(t, list, seating)
		})
	}
}

// suspiciousLadder returns a ladder without differences, and the revisions of its
// four seatings. Each kind of warning applies to at least one seating. The seatings
// use two different rest times.
func suspiciousLadder(t testing.TB) (list []stored, seatings []int) {
	t.Helper()
	l := sample.NewBeaconLadder(9, &sample.Beacon{Chain: fakeChain(), Sign: fakeSignature})
	for range 4 {
		l.Tick()
	}
	list = eventsOf(t, l)
	for i, e := range list {
		if e.name == "TablesSeated" {
			seatings = append(seatings, i)
		}
	}
	list[seatings[0]].data["restMs"] = 5 // nobody has played yet
	list[seatings[1]].at = list[seatings[1]].at.Add(time.Minute)

	ahead := list[seatings[2]].data
	tick, err := time.Parse(time.RFC3339, ahead["tick"].(string))
	require.NoError(t, err)
	ahead["tick"] = tick.Add(90 * time.Second).Format(match.TimeFormat)
	round := ahead["beacon"].(object)
	round["round"] = number(round["round"]) + 30 // 90 s, in periods of 3 s
	delete(list[seatings[3]].data, "beacon")
	return list, seatings
}

func TestSuspiciousSeatingsAreCounted(t *testing.T) {
	list, seatings := suspiciousLadder(t)
	l, err := foldWith(t, list)
	require.NoError(t, err)
	require.Equal(t, map[string]audit.Warning{
		audit.Late:          {Count: 1, First: uint64(seatings[1])},
		audit.Backdated:     {Count: 1, First: uint64(seatings[3])},
		audit.WithoutBeacon: {Count: 1, First: uint64(seatings[3])},
	}, l.Totals.Warnings)
	require.Equal(t, []int64{5, 0}, l.Totals.Rests)
}

// foldWith recomputes stored events with a chain and published seed keys.
func foldWith(t testing.TB, list []stored) (*audit.Ladder, error) {
	t.Helper()
	l := audit.NewLadder(ladder.Standard, sample.PlatformKey)
	l.Beacons = trusting(fakeChain())
	l.SeedKeys = map[string]audit.SeedKey{sample.SeedKeyID: {Hash: sample.SeedKeyHash(), Key: sample.SeedKey}}
	return l, foldInto(t, l, list)
}

// A bot that the arena does not list is missing from every public record. Only
// its owner knows that the bot was free and active.
func TestABotThatIsNotListedIsNotFound(t *testing.T) {
	l := sample.NewLadder(4)
	l.Tick()
	l.Unlist(0)
	l.Tick()
	_, err := fold(t, eventsOf(t, l))
	require.NoError(t, err)
}

// An operator keeps voiding tables and seating new ones until the seeds are
// convenient. No single event is wrong, so only the number of voids by cause reveals
// the fraud.
func TestVoidsAreCountedByCause(t *testing.T) {
	l := sample.NewBeaconLadder(4, &sample.Beacon{Chain: fakeChain(), Sign: fakeSignature})
	for _, why := range []string{ladder.WhyOperator, ladder.WhyOperator, ladder.WhyWallClock, ladder.WhyBeacon} {
		l.SeatAndVoid(why)
	}
	l.Tick()
	folded, err := foldWith(t, eventsOf(t, l))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"operator": 2, "wall_clock": 1, "beacon": 1}, folded.Totals.Voids)
	require.Equal(t, 4, folded.Totals.Voided)

	without := sample.NewLadder(4)
	without.SeatAndVoid(ladder.WhyBeacon)
	_, err = fold(t, eventsOf(t, without))
	require.ErrorContains(t, err, "names no round of a beacon")
}

// The record of an aborted match must give the same reason as the ladder.
func TestTheReasonOfAnAbortIsCompared(t *testing.T) {
	a, record := beaconArena(t)
	e := evidenceOf(t, a, idOf(t, record))
	with := func(status, reason string) *audit.Difference {
		f := open(t, record)
		f.object["status"], f.object["reason"] = status, reason
		text, err := json.Marshal(f.object)
		require.NoError(t, err)
		return verify(t, text, e).Difference
	}
	require.Nil(t, with("aborted", "wall_clock"))
	require.ErrorContains(t, with("aborted", "operator"), "expected aborted with the reason wall_clock")

	a = sample.New(sample.Options{Chance: 5, Bots: 4})
	record = a.Tick()[0]
	e = audit.Evidence{}
	require.ErrorContains(t, with("completed", "operator"), "a reason only in an aborted match")
}

// The seatings of older arenas list no candidates, so only the other checks
// apply to them.
func TestSeatingsWithoutCandidatesAreNotRepeated(t *testing.T) {
	list := storedLadder(t)
	for _, e := range list {
		for _, name := range []string{"candidates", "restMs", "beacon"} {
			delete(e.data, name)
		}
	}
	l, err := fold(t, list)
	require.NoError(t, err)
	require.Positive(t, l.Totals.Seatings)
	require.Zero(t, l.Totals.Repeated)
	table := tables(list[0])[0].(object)
	table["bots"] = table["bots"].([]any)[:2]
	_, err = fold(t, list)
	require.ErrorContains(t, err, "a table of 2")
}

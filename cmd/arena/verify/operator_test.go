package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
	"hexarena/domain/seed"
	"hexarena/projections/signedlog"
)

// In these tests, a dishonest operator controls and signs everything that the arena
// serves. docs/audit.md says how each fraud becomes visible.

// No matter what an operator changes in a seating, the checker names the event. A
// test in domain/audit has more cases.
func TestVerifyNamesDishonestSeatings(t *testing.T) {
	t.Parallel()
	number := func(data, name string, change func(n int) int) string {
		return regexp.MustCompile(`"`+name+`":\d+`).ReplaceAllStringFunc(data, func(found string) string {
			var n int
			_, err := fmt.Sscanf(found, `"`+name+`":%d`, &n)
			require.NoError(t, err)
			return fmt.Sprintf("%q:%d", name, change(n))
		})
	}
	for name, c := range map[string]struct {
		change func(data string) string
		says   string
	}{
		"a listed bot is dropped": {func(data string) string {
			var e ladder.TablesSeated
			require.NoError(t, json.Unmarshal([]byte(data), &e))
			e.Tables[0].Bots = e.Tables[0].Bots[1:]
			changed, err := json.Marshal(e)
			require.NoError(t, err)
			return string(changed)
		}, "from the listed candidates"},
		"a backdated round": {func(data string) string {
			return number(data, "round", func(n int) int { return n - 1 })
		}, "a round that appears at least 2 periods after the tick"},
		"a chain of its own": {func(data string) string {
			return regexp.MustCompile(`"chain":"[0-9a-f]+"`).ReplaceAllString(data, `"chain":"00"`)
		}, "a chain that you trust: tests"},
		"a commitment of another key": {func(data string) string {
			return regexp.MustCompile(`"commitment":"[0-9a-f]+"`).ReplaceAllString(data, `"commitment":"`+seed.Seed{1}.String()+`"`)
		}, "from the published seed key"},
		"no candidates": {func(data string) string {
			return regexp.MustCompile(`"candidates":\[[^]]*\],`).ReplaceAllString(data, "")
		}, "earlier seatings list theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTreeArena(t, 3, nil)
			s.change(2, c.change)
			_, errOut, status := s.ladder()
			require.Equal(t, 1, status, errOut)
			require.Contains(t, errOut, "ladder-standard@2")
			require.Contains(t, errOut, c.says)
		})
	}
}

// An operator repeatedly seats tables and voids them, to draw new seeds. The seatings
// and voids are in the tree, so the checker counts the voids by cause. If the
// operator leaves them out of the served events or out of the tree, the checker
// reports a difference.
func TestVerifyCountsHiddenSeatings(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 1, func(o *sample.Options) { o.Abort = 0 })
	for range 5 {
		s.arena.SeatAndVoid(ladder.WhyOperator)
	}
	s.arena.SeatAndVoid(ladder.WhyBeacon)
	s.add(t, s.arena.Tick()...)
	s.publish()
	out, errOut, status := s.ladder()
	require.Zero(t, status, errOut)
	require.Contains(t, out, "2 matches rated, 6 voided (beacon 1, operator 5, 6 never started)")

	all := s.served
	s.served = append(append([]rest.LadderEvent{}, all[:2]...), all[14:]...)
	_, errOut, status = s.ladder()
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "an event at revision 14; expected one at revision 2")
	for i := range s.served {
		s.served[i].Revision = i
	}
	_, errOut, status = s.ladder()
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "entry 2:")
	s.entries = nil
	for i, e := range s.served {
		s.served = s.served[:i]
		s.append(e.Type, s.arena.Times[i], e.Data)
	}
	_, errOut, status = s.ladder("--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "the id ", "the ids of later matches depend on the hidden events")
	_, errOut, status = s.ladder()
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "the ladder only grows")
}

// An operator aborts a match because they do not like how it is going. The void is
// valid, so the checker only counts it under its cause. The aborted match and its
// seed stay in the log of results, so anyone can see how the match was going.
func TestVerifyCountsAnAbortOfADislikedMatch(t *testing.T) {
	t.Parallel()
	const last = 3
	s := newTreeArena(t, 2, func(o *sample.Options) { o.Abort = 2 })
	s.change(last, func(data string) string { return strings.Replace(data, "wall_clock", "operator", 1) })
	out, errOut, status := s.ladder("--no-remember")
	require.Zero(t, status, errOut)
	require.Contains(t, out, "1 matches rated, 1 voided (operator 1, 0 never started)")
	out, errOut, status = s.verify(s.URL+"/matches/"+s.id(t, 1), "--no-remember")
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^signed log +1 correct$`, out)

	s.entries[last] = bytes.Replace(s.entries[last], s.entries[last][:bytes.Index(s.entries[last], []byte(`"revision"`))], []byte("{"), 1)
	_, errOut, status = s.ladder("--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "1 results without a leaf in the ladder's tree of 4 events", "a match that had started cannot be shown as never started")
}

// A wall clock can run out only if the match has started. So if an operator leaves
// the record of such a match out of the log of results, the omission shows.
func TestVerifyNamesAnExpiredMatchWithoutALeaf(t *testing.T) {
	t.Parallel()
	const last = 3
	s := newTreeArena(t, 2, func(o *sample.Options) { o.Abort = 2 })
	s.leaves = s.leaves[:1]
	s.entries[last] = signedlog.Entry(last, s.served[last].Type, []byte(s.served[last].Data), nil)
	_, errOut, status := s.ladder("--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "entry 3: a match whose wall clock ran out, without a leaf; expected the leaf of the match's record, because such a match had started")
}

// Some seatings follow the rules but are still suspicious. Verify warns about them.
func TestVerifyWarnsAboutSuspiciousSeatings(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 3, func(o *sample.Options) { o.Abort = 0 })
	s.keys[0].Key = nil
	s.change(0, func(data string) string { return strings.Replace(data, `"tables"`, `"restMs":5000,"tables"`, 1) })
	for _, revision := range []int{2, 4} { // stored after their rounds
		late, err := time.Parse(time.RFC3339, s.served[revision].At)
		require.NoError(t, err)
		s.served[revision].At = rest.FormatTime(late.Add(30 * time.Second))
	}
	out, errOut, status := s.ladder("--no-remember")
	require.Zero(t, status, errOut)
	for _, line := range []string{
		"no commitment was checked: no seed key of this ladder is published yet",
		"the bots' rest time changed: 5s, 0s",
		"WARNING: 2 seatings (the first at revision 2) were stored after their round had appeared: the arena may have known their seeds",
	} {
		require.Contains(t, out, line+"\n")
	}
	require.Equal(t, 1, strings.Count(out, "WARNING"))

	s.add(t, s.arena.Tick()...)
	s.publish()
	s.change(6, func(data string) string { return regexp.MustCompile(`,"beacon":{[^}]*}`).ReplaceAllString(data, "") })
	out, errOut, status = s.ladder("--no-remember")
	require.Zero(t, status, errOut)
	require.Contains(t, out, "WARNING: 1 seatings (the first at revision 6) name no round, but an earlier seating does: the arena may have chosen their seeds\n")
	out, errOut, status = s.ladder("--no-remember", "--json")
	require.Zero(t, status, errOut)
	var r ladderReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, map[string]audit.Warning{audit.WithoutBeacon: {Count: 1, First: 6}}, r.Warnings)
}

// Without a beacon, an operator can try seed keys until one gives a convenient match.
// All checks still pass, but the result says that only the arena contributed to the
// seed.
func TestVerifySaysThatSeedsCouldBeGround(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 1, func(o *sample.Options) { o.Beacon, o.Silent = nil, true })
	out, errOut, status := s.verify(s.URL + "/matches/" + s.id(t, 0))
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^seed from +the arena only$`, out)
	out, errOut, status = s.ladder()
	require.Zero(t, status, errOut)
	require.Contains(t, out, "no table uses a beacon")
}

// With a beacon, an operator can choose neither the seed nor the round. The seed must
// follow from the round, and the round must be the one that the seating names.
func TestVerifyNamesGroundSeedsWithABeacon(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 1, nil)
	target := s.URL + "/matches/" + s.id(t, 0)
	record := s.records[0]
	named := s.arena.Events[0].(ladder.TablesSeated).Beacon.Round
	replace := func(pattern, with string) []byte {
		changed := regexp.MustCompile(pattern).ReplaceAll(record, []byte(with))
		require.NotEqual(t, record, changed)
		return changed
	}
	for says, changed := range map[string][]byte{
		"seed: the log has 0100":                        replace(`"seed":"[0-9a-f]+"`, `"seed":"`+seed.Seed{1}.String()+`"`),
		"expected round " + fmt.Sprint(named):           replace(fmt.Sprintf(`"round":%d`, named), fmt.Sprintf(`"round":%d`, named-1)),
		"is not the SHA-256 of its signature":           replace(`"randomness":"[0-9a-f]+"`, `"randomness":"`+seed.Seed{1}.String()+`"`),
		"not valid under the key of the chain":          withSignature(t, s, record, named, named+1),
		"beacon: the log has no beacon; expected round": replace(`,"beacon":\{[^}]*\}`, ""),
	} {
		s.records[0] = changed
		_, errOut, status := s.verify(target)
		require.Equal(t, 1, status, errOut)
		require.Contains(t, errOut, says)
	}
	s.records[0] = record
	_, errOut, status := call(target)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "a chain that you trust: quicknet")
}

// withSignature replaces the round's signature with the signature of a different
// round.
func withSignature(t *testing.T, s *treeArena, record []byte, named, other uint64) []byte {
	t.Helper()
	round := func(n uint64) string { return fmt.Sprintf("%x", s.chain.sign(n)) }
	text := strings.Replace(string(record), round(named), round(other), 1)
	require.NotEqual(t, string(record), text)
	return []byte(regexp.MustCompile(`"randomness":"[0-9a-f]+"`).ReplaceAllString(text, `"randomness":"`+randomnessOf(s.chain.sign(other))+`"`))
}

// The record of a match must agree with the seating in the ladder's tree: the same
// bots, the same commitment and the same round.
func TestVerifyNamesAMatchThatTheTreeDidNotSeat(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 2, nil)
	target := s.URL + "/matches/" + s.id(t, 1)
	good := s.served[2].Data
	for says, change := range map[string]func(data string) string{
		"seating: the log has the commitment": func(data string) string {
			return regexp.MustCompile(`"commitment":"[0-9a-f]+"`).ReplaceAllString(data, `"commitment":"`+seed.Seed{1}.String()+`"`)
		},
		"seating: the log has the table": func(data string) string {
			return strings.Replace(data, `"bots":["00000000`, `"bots":["10000000`, 1)
		},
		"beacon: the log has round": func(data string) string {
			return strings.Replace(data, `"round":`, `"round":1`, 1)
		},
		"the ladder's signed tree has no such table": func(data string) string {
			return strings.Replace(data, s.id(t, 1), "x", 1)
		},
	} {
		s.change(2, change)
		_, errOut, status := s.verify(target, "--no-remember")
		require.Equal(t, 1, status, errOut)
		require.Contains(t, errOut, says)
		s.change(2, func(string) string { return good })
	}

	// First the served event is correct, and the tree contains a different one. Then
	// the tree is correct, and the served event differs.
	s.served[2].Data = strings.Replace(good, `"seedKey"`, `"other":1,"seedKey"`, 1)
	_, errOut, status := s.verify(target, "--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "ladder tree: the log has entry 2 with the hash")
	s.served[2].Data = good
	s.lie = func(path string, answer []byte) []byte {
		if strings.Contains(path, "/tile/0/") {
			answer = bytes.Clone(answer)
			answer[40] ^= 1
		}
		return answer
	}
	_, errOut, status = s.verify(target, "--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "tiles that contradict the checkpoint")
	s.lie = func(path string, answer []byte) []byte {
		if !strings.HasSuffix(path, "/checkpoint") {
			return answer
		}
		signed, err := signedlog.Sign(signedlog.Head{Origin: s.origin(), Size: 1 << 63, Root: make([]byte, 32)}, s.key)
		require.NoError(t, err)
		return signed
	}
	_, errOut, status = s.verify(target, "--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "its size is more than")
}

// If the arena replaces a nonce, the owner's notes reveal that. They also reveal a
// replaced round or log index.
func TestVerifyNamesASwappedNonce(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 1, func(o *sample.Options) { o.Beacon = nil })
	var r namedRecord
	require.NoError(t, json.Unmarshal(s.records[0], &r))
	for says, note := range map[string]string{
		`bot ` + r.Proof.Table[0] + `; expected the nonce "mine"`:      `"nonce":"mine"`,
		"expected that bot " + r.Proof.Table[0] + " was shown round 7": `"round":7`,
		"was shown the log index 0; expected":                          `"index":4`,
	} {
		file := filepath.Join(t.TempDir(), "notes.jsonl")
		text := fmt.Sprintf(`{"match":%q,"bot":%q,%s,"at":%q}`, r.ID, r.Proof.Table[0], note, time.Now().Format(time.RFC3339))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, errOut, status := s.verify(s.URL+"/matches/"+r.ID, "--nonces", file)
		require.Equal(t, 1, status, errOut)
		require.Contains(t, errOut, says)
	}
}

// The log of results must contain the same results as the ladder's tree, so an
// operator cannot maintain two histories.
func TestVerifyNamesResultsThatAreNotInTheLadder(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 3, nil)
	s.leaves[1] = []byte("another result")
	_, errOut, status := s.ladder()
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "the leaves in the ladder's tree give 3 results with the root")
}

package verify

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/cmd/arena/remote"
	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
	"hexarena/projections/signedlog"
)

// An auditor needs only REST to recompute a ladder. The heads of the next run must
// continue the remembered ones.
func TestVerifyALadderOverREST(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 6, nil)
	out, errOut, status := s.ladder()
	require.Zero(t, status, errOut)
	for _, line := range []string{
		"ladder-standard: 12 events, 6 tables, 4 bots",
		`4 matches rated, 2 voided \(wall_clock 2, 0 never started\); all 16 rating changes are the same to the last bit .*`,
		"every match id follows from the platform key and the position of its table",
		"6 of 6 seatings list their candidates; .*",
		"6 of 6 tables use a beacon; the round's time was checked in 6 of 6 seatings and is correct",
		"6 of 6 commitments follow from published seed keys",
		"the events are the 12 entries of the ladder's signed tree",
		"the signed log of results is consistent with the 6 leaves in this tree",
	} {
		require.Regexp(t, "(?m)^"+line+"$", out)
	}
	require.NotContains(t, out, "remembered")
	s.add(t, s.arena.Tick()...)
	s.publish()
	out, errOut, status = s.ladder()
	require.Zero(t, status, errOut)
	require.Contains(t, out, "the tree continues the remembered head of 12 events")
	out, errOut, status = s.ladder("--json")
	require.Zero(t, status, errOut)
	var r ladderReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, uint64(14), r.Tree.Size)
	require.Equal(t, uint64(14), *r.Tree.Continues)
	require.Equal(t, uint64(7), r.Tree.Results)
	require.Equal(t, map[string]int{"wall_clock": 2}, r.Voids)

	for i := range s.records {
		out, errOut, status = s.verify(s.URL + "/matches/" + s.id(t, i))
		require.Zero(t, status, errOut)
	}
	require.Regexp(t, `(?m)^seating +4 correct$`, out)
	require.Regexp(t, `(?m)^seed key +2 correct$`, out)
	require.Regexp(t, `(?m)^beacon +3 correct$`, out)
	require.Regexp(t, `(?m)^ladder tree +1 correct$`, out)
	require.Regexp(t, `(?m)^witnesses +not checked: no --policy was given$`, out)
	require.Regexp(t, `(?m)^seed from +the beacon$`, out)
	out, errOut, status = s.verify("--arena", s.URL, samples(t, s.records...))
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^seating +28 correct$`, out)
	require.Regexp(t, `(?m)^seed from +the beacon \(7 matches\)$`, out)
}

// A larger ladder needs several pages of events and several tiles.
func TestVerifyALadderOfSeveralTiles(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 2, nil)
	for len(s.arena.Events) < 600 {
		s.arena.SeatAndVoid("operator")
	}
	s.publish()
	out, errOut, status := s.ladder()
	require.Zero(t, status, errOut)
	require.Regexp(t, `the events are the 6\d\d entries`, out)
	for _, size := range []int{300, 512, -1} { // the head in each run continues the head from the previous run
		s.size = size
		_, errOut, status = s.ladder("--no-remember", "--head", keep(t, s.checkpoint()))
		require.Zero(t, status, errOut)
		_, errOut, status = s.verify(s.URL+"/matches/"+s.id(t, 0), "--no-remember")
		require.Zero(t, status, errOut)
	}
}

// An arena shows one tree to one reader, and a different tree to another reader. If the
// arena later shows one of these readers the other tree, that reader notices.
func TestVerifyNamesAForkedTree(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 3, nil)
	target := s.URL + "/matches/" + s.id(t, 0)
	_, errOut, status := s.verify(target)
	require.Zero(t, status, errOut)
	file := headFile(t, s, ladderTree)
	before, err := os.ReadFile(file)
	require.NoError(t, err)

	s.change(4, func(data string) string { return strings.Replace(data, `"seedKey"`, `"other":1,"seedKey"`, 1) })
	s.add(t, s.arena.Tick()...)
	s.append("MatchVoided", s.arena.Times[0], `{"match":"x","why":"operator"}`)
	for _, run := range [][]string{{target}, {"--ladder", "standard", "--arena", s.URL}} {
		_, errOut, status = s.verify(run...)
		require.Equal(t, 1, status, errOut)
		require.Contains(t, errOut, "has a head of 7 events with the root ")
		require.Contains(t, errOut, "a head that continues the earlier one: 6 events with the root ")
		require.Contains(t, errOut, "in "+file)
		require.Contains(t, errOut, "the other head is in "+file+".other")
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, before, kept)
	other, err := os.ReadFile(file + ".other")
	require.NoError(t, err)
	require.Equal(t, s.checkpoint(), other)

	s.size = 5
	_, errOut, status = s.verify(target)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "the ladder only grows")
	s.size = 0
	s.lie = func(path string, answer []byte) []byte {
		if strings.HasSuffix(path, "/checkpoint") {
			return nil
		}
		return answer
	}
	_, errOut, status = s.verify(target)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "no ladder tree")
}

// An arena that publishes the key of a tree cannot hide the tree.
func TestVerifyNamesAHiddenTree(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 1, nil)
	s.lie = func(path string, answer []byte) []byte {
		switch {
		case strings.HasSuffix(path, "/checkpoint"):
			return nil
		case strings.HasSuffix(path, "/vkey"):
			return []byte("key")
		}
		return answer
	}
	_, errOut, status := s.verify(s.URL+"/matches/"+s.id(t, 0), "--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "a ladder tree, because the arena publishes its key")
	_, errOut, status = s.ladder("--no-remember")
	require.Equal(t, 1, status, errOut)
}

// If an arena's matches use a beacon, the arena cannot hide its whole tree and
// pretend to be an older version.
func TestVerifyNamesAHiddenTreeOfAnArenaWithABeacon(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 1, nil)
	s.lie = func(path string, answer []byte) []byte {
		if strings.Contains(path, "/ladder/") || strings.HasSuffix(path, "/vkey") {
			return nil
		}
		return answer
	}
	_, errOut, status := s.verify(s.URL+"/matches/"+s.id(t, 0), "--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "every arena with a beacon has a ladder tree")
}

// Verify reads the keys after the head, so it knows a key that is added between the
// two reads. The Python checker reads them in the same order.
func TestVerifyReadsKeysAfterTheHead(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 1, nil)
	keys := s.keys
	s.keys = []rest.SeedKey{}
	s.lie = func(path string, answer []byte) []byte {
		if strings.HasSuffix(path, "/checkpoint") {
			s.keys = keys
		}
		return answer
	}
	_, errOut, status := s.ladder("--no-remember")
	require.Zero(t, status, errOut)

	s.keys = []rest.SeedKey{}
	out, err := exec.CommandContext(t.Context(), "python3", filepath.Join("..", "..", "..", "docs", "audit", "verify.py"), "--ladder", "standard", s.URL).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		require.Empty(t, os.Getenv("CI"), "CI installs python3: make deps")
		t.Skip("the Python checker needs python3: run make deps")
	}
	require.NoError(t, err, "%.2000s", out)
	require.Contains(t, string(out), "; 1 commitments; ")
}

// Verify also remembers heads of the tree of results.
func TestVerifyNamesAForkedLogOfResults(t *testing.T) {
	t.Parallel()
	s := newFakeArena(t, 3)
	target := s.URL + "/matches/" + s.id(t, 0)
	all := s.leaves
	_, errOut, status := call(target)
	require.Zero(t, status, errOut)
	s.leaves = [][]byte{all[0], []byte("another"), all[2], all[1]}
	_, errOut, status = call(target)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "results-standard has 3 results with the root")
	require.Contains(t, errOut, "results-standard.other")
	s.leaves = all[:2]
	_, errOut, status = call(target)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "because the log only grows")
	_, errOut, status = call(target, "--no-remember")
	require.Zero(t, status, errOut)
}

// headFile returns the path of the file with the remembered head of a tree.
func headFile(t *testing.T, s *treeArena, tree string) string {
	t.Helper()
	h, err := openHeads(s.public(), true)
	require.NoError(t, err)
	return h.path(tree, "standard")
}

// Only the user can read the files of remembered heads. If a file is damaged, the
// error names the file, and verify does not replace it.
func TestRememberedHeadsAreFiles(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 2, nil)
	_, errOut, status := s.ladder()
	require.Zero(t, status, errOut)
	folder, err := remote.ConfigFolder()
	require.NoError(t, err)
	for _, tree := range []string{ladderTree, resultsTree} {
		file := headFile(t, s, tree)
		require.Equal(t, filepath.Join(folder, "heads", hex.EncodeToString(s.public()), tree+"-standard"), file)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		good, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, bad := range [][]byte{nil, []byte("x"), bytes.Replace(good, []byte("standard"), []byte("parley"), 2)} {
			require.NoError(t, os.WriteFile(file, bad, 0o600))
			_, errOut, status = s.ladder()
			require.Equal(t, 2, status, errOut)
			require.Contains(t, errOut, "read the remembered head in "+file)
			_, errOut, status = s.ladder("--no-remember")
			require.Zero(t, status, errOut)
		}
		require.NoError(t, os.WriteFile(file, good, 0o600))
	}
}

// policyFile writes a policy in which 2 of 3 witnesses must cosign.
func policyFile(t *testing.T, log string, witnesses ...*torchwood.CosignatureSigner) string {
	t.Helper()
	text := "# who must see a checkpoint\nlog " + log + " https://arena.example/ladder/standard\n"
	var names []string
	for _, w := range witnesses {
		text += fmt.Sprintf("witness %s %s\n", w.Name(), w.Verifier())
		names = append(names, w.Name())
	}
	text += "group quorum-2 2 " + strings.Join(names, " ") + "\nquorum quorum-2\n"
	name := filepath.Join(t.TempDir(), "policy")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// A policy that requires 2 of 3 witnesses rejects a tree that fewer witnesses have
// seen.
func TestVerifyDemandsThePolicysQuorum(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 2, nil)
	key, err := signedlog.VerifierKey(s.origin(), s.public())
	require.NoError(t, err)
	w := []*torchwood.CosignatureSigner{newWitness(t, "one"), newWitness(t, "two"), newWitness(t, "three")}
	file := policyFile(t, key, w...)
	target := s.URL + "/matches/" + s.id(t, 0)

	s.witnesses = append(w[:2:2], newWitness(t, "unknown"))
	out, errOut, status := s.ladder("--policy", file)
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^witness one cosigned the tree of 4 events at 20\S+Z$`, out)
	require.Regexp(t, `(?m)^witness two cosigned the tree of 4 events at 20\S+Z$`, out)
	require.NotContains(t, out, "unknown")
	out, errOut, status = s.verify(target, "--policy", file)
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^witnesses +2 correct$`, out)

	// The newest checkpoint has no cosignatures yet, but an earlier one has. Verify
	// does not accept a match that was seated after the earlier checkpoint.
	earlier := s.checkpoint()
	s.add(t, s.arena.Tick()...)
	s.witnesses = nil
	s.publish()
	s.cosigned = earlier
	out, errOut, status = s.ladder("--policy", file)
	require.Zero(t, status, errOut)
	require.Contains(t, out, "ladder-standard: 4 events, 2 tables")
	require.Contains(t, out, "the events are the first 4 of the 6 entries of the ladder's signed tree")
	require.Contains(t, out, "2 newer events were not checked: no quorum of the policy has cosigned them yet")
	require.Contains(t, out, "witness two cosigned the tree of 4 events at ")
	_, errOut, status = s.verify(target, "--policy", file)
	require.Zero(t, status, errOut)
	_, errOut, status = s.verify(s.URL+"/matches/"+s.id(t, 2), "--policy", file)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "witnesses: the log has a seating at revision 4; expected a seating that the witnesses of "+file+" have seen")

	// The witnesses cosigned another tree.
	s.change(0, func(data string) string { return strings.Replace(data, `"seedKey"`, `"other":1,"seedKey"`, 1) })
	_, errOut, status = s.verify(target, "--policy", file, "--no-remember")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "expected a head of the tree that witnesses cosigned: 4 events")
	s.cosigned = nil
	s.publish()

	// The operator shows this reader another tree. Only the operator's own witness
	// signs both trees.
	s.witnesses = []*torchwood.CosignatureSigner{w[2], newWitness(t, "one")}
	s.arena.SeatAndVoid("operator")
	s.publish()
	for _, run := range [][]string{{target}, {"--ladder", "standard", "--arena", s.URL}} {
		_, errOut, status = s.verify(append(run, "--policy", file)...)
		require.Equal(t, 1, status, errOut)
		require.Contains(t, errOut, "a checkpoint that satisfies "+file)
		require.Contains(t, errOut, "missing: one, two")
	}

	another := policyFile(t, "arena.example/ladder/parley+7b4cba2c+AXqJ0vJbZBBvC0xmFeaUvO3tbQdC5c8v9rGTrsqCDhV7", w...)
	for says, policy := range map[string]string{
		"no such file":            "/nowhere/at/all",
		"no quorum defined":       keep(t, nil),
		"unknown keyword":         keep(t, []byte("witnesses x y\n")),
		"invalid log vkey":        another,
		"has no line for the log": policyFile(t, vkeyOfAnother(t), w...),
	} {
		_, errOut, status = s.verify(target, "--policy", policy)
		require.Equal(t, 2, status, errOut)
		require.Contains(t, errOut, says)
	}
}

// An operator shows this reader events after the cosigned head, which no witness has
// seen. Verify does not count these events, even if they are correct.
func TestVerifyStopsAtTheCosignedHead(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 2, nil)
	key, err := signedlog.VerifierKey(s.origin(), s.public())
	require.NoError(t, err)
	w := []*torchwood.CosignatureSigner{newWitness(t, "one"), newWitness(t, "two"), newWitness(t, "three")}
	run := []string{"--policy", policyFile(t, key, w...), "--no-remember"}
	s.witnesses = w
	s.cosigned = s.checkpoint()
	s.size = 0
	empty := s.checkpoint()
	s.witnesses, s.size = nil, -1

	for range 3 { // these events differ from those that other readers see
		s.arena.SeatAndVoid(ladder.WhyOperator)
	}
	s.publish()
	out, errOut, status := s.ladder(append(run, "--json")...)
	require.Zero(t, status, errOut)
	var r ladderReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, 4, r.Events)
	require.Equal(t, uint64(4), r.Tree.Size)
	require.Equal(t, uint64(6), r.Tree.Newer)
	require.Empty(t, r.Voids, "voids that no witness has seen are not counted")

	// The newest head must still continue the cosigned one.
	s.change(1, func(data string) string { return strings.Replace(data, `"match"`, `"other":1,"match"`, 1) })
	_, errOut, status = s.ladder(run...)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "expected a head of the tree that witnesses cosigned: 4 events")

	s.publish()
	s.cosigned = empty
	_, errOut, status = s.ladder(run...)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "the witnesses cosigned only a tree without events")
}

func vkeyOfAnother(t *testing.T) string {
	t.Helper()
	s := serveArena(t)
	key, err := signedlog.VerifierKey("arena.example/ladder/standard", s.public())
	require.NoError(t, err)
	return key
}

// House bots do not count as contributors to a seed.
func TestVerifySaysWhoSharedInASeed(t *testing.T) {
	t.Parallel()
	s := newTreeArena(t, 1, func(o *sample.Options) { o.Beacon = nil })
	var r namedRecord
	require.NoError(t, json.Unmarshal(s.records[0], &r))
	require.Len(t, slices.DeleteFunc(slices.Clone(r.Proof.Nonces), func(n string) bool { return n == "" }), 3, "three bots of this sample sent a nonce")
	for _, c := range []struct {
		owner func(i int) string
		says  string
	}{
		{func(int) string { return "ada" }, `(?m)^seed from +the arena and 3 bots$`},
		{func(int) string { return "house" }, `(?m)^seed from +the arena only$`},
	} {
		for i, bot := range r.Proof.Table {
			s.owners[bot] = c.owner(i)
		}
		out, errOut, status := s.verify(s.URL + "/matches/" + s.id(t, 0))
		require.Zero(t, status, errOut)
		require.Regexp(t, c.says, out)
		require.Regexp(t, `(?m)^beacon +1 correct; the arena had no beacon$`, out)
	}
	out, _, status := call(samples(t, s.records[0]))
	require.Zero(t, status)
	require.Regexp(t, `(?m)^seed from +the arena and at most 3 bots \(some may be house bots\)$`, out)
}

package arena_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/arena"
)

// The function member() returns a member that has the seed key k1.
func member(id string, maxMatches int) arena.MemberSeen {
	return arena.MemberSeen{Member: id, MaxMatches: maxMatches, SeedKeys: []string{"k1"}}
}

func unfinished(ids ...string) (list []arena.Unfinished) {
	for _, id := range ids {
		list = append(list, arena.Unfinished{ID: id, SeedKey: "k1"})
	}
	return list
}

func assigned(generation uint64, shares ...arena.Share) arena.MatchesAssigned {
	return arena.MatchesAssigned{Generation: generation, Shares: shares}
}

func TestAssign(t *testing.T) {
	keyless := arena.MemberSeen{Member: "keyless", MaxMatches: 100}
	given := assigned(3, arena.Share{Member: "a", Matches: []string{"1", "2"}}, arena.Share{Member: "b", Matches: []string{"3"}})
	for name, c := range map[string]struct {
		given      events
		generation uint64
		alive      []arena.MemberSeen
		unfinished []arena.Unfinished
		want       events
		fails      error
	}{
		"nothing to do":          {nil, 1, []arena.MemberSeen{member("a", 9)}, nil, nil, nil},
		"one process alone":      {nil, 1, []arena.MemberSeen{member("a", 9)}, unfinished("1", "2"), events{assigned(1, arena.Share{Member: "a", Matches: []string{"1", "2"}})}, nil},
		"by free capacity":       {nil, 1, []arena.MemberSeen{member("a", 1), member("b", 3)}, unfinished("1", "2", "3"), events{assigned(1, arena.Share{Member: "a", Matches: []string{"3"}}, arena.Share{Member: "b", Matches: []string{"1", "2"}})}, nil},
		"more than the capacity": {nil, 1, []arena.MemberSeen{member("a", 1), member("b", 0)}, unfinished("1", "2", "3"), events{assigned(1, arena.Share{Member: "a", Matches: []string{"1", "2"}}, arena.Share{Member: "b", Matches: []string{"3"}})}, nil},
		"nothing has changed":    {events{given}, 4, []arena.MemberSeen{member("a", 1), member("b", 9)}, unfinished("1", "2", "3"), nil, nil},
		"a match has ended":      {events{given}, 4, []arena.MemberSeen{member("a", 9), member("b", 9)}, unfinished("2", "3"), nil, nil},
		"a process came":         {events{given}, 4, []arena.MemberSeen{member("a", 9), member("b", 9), member("c", 9)}, unfinished("1", "2", "3"), nil, nil},
		"a process came, and a new match goes to it": {events{given}, 4, []arena.MemberSeen{member("a", 9), member("b", 9), member("c", 9)}, unfinished("1", "3", "4"),
			events{assigned(4, arena.Share{Member: "a", Matches: []string{"1"}}, arena.Share{Member: "b", Matches: []string{"3"}}, arena.Share{Member: "c", Matches: []string{"4"}})}, nil},
		"a process is gone": {events{given}, 4, []arena.MemberSeen{member("b", 9), member("c", 9)}, unfinished("1", "2", "3"),
			events{assigned(4, arena.Share{Member: "b", Matches: []string{"2", "3"}}, arena.Share{Member: "c", Matches: []string{"1"}})}, nil},
		"all processes are gone": {events{given}, 4, nil, unfinished("1", "2", "3", "4"), nil, nil},
		"nobody has the key":     {events{given}, 4, []arena.MemberSeen{keyless}, unfinished("1", "2", "3", "4"), nil, nil},
		"only a full one has the key": {nil, 4, []arena.MemberSeen{keyless, member("a", 0)}, unfinished("1"),
			events{assigned(4, arena.Share{Member: "a", Matches: []string{"1"}})}, nil},
		"a process has lost a key": {events{given}, 4, []arena.MemberSeen{{Member: "a", MaxMatches: 9}, member("b", 9)}, unfinished("1", "3"),
			events{assigned(4, arena.Share{Member: "b", Matches: []string{"1", "3"}})}, nil},
		"a later lease": {events{given}, 2, []arena.MemberSeen{member("c", 9)}, unfinished("1"), nil, arena.ErrNotSeating},
	} {
		t.Run(name, func(t *testing.T) {
			var a arena.Assignments
			for _, e := range c.given {
				a = arena.EvolveAssignments(a, e, noon)
			}
			got, err := a.Assign(c.generation, c.alive, c.unfinished)
			require.Equal(t, c.fails, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestFreeCapacityForASeedKey(t *testing.T) {
	a := arena.EvolveAssignments(arena.Assignments{}, assigned(1, arena.Share{Member: "a", Matches: []string{"1", "2"}}, arena.Share{Member: "gone", Matches: []string{"3"}}), noon)
	other := arena.MemberSeen{Member: "other", MaxMatches: 100, SeedKeys: []string{"k2"}}
	alive := []arena.MemberSeen{member("a", 5), member("b", 7), other}
	require.Equal(t, 3+7, a.Free(alive, unfinished("1", "2", "3"), "k1"))
	require.Equal(t, 5+7, a.Free(alive, unfinished("3"), "k1"), "two matches have ended")
	require.Equal(t, 100, a.Free(alive, unfinished("1", "2", "3"), "k2"))
	require.Zero(t, a.Free([]arena.MemberSeen{member("a", 1)}, unfinished("1", "2"), "k1"), "more matches than its capacity")
	require.Equal(t, []string{"a", "gone"}, a.Members())
	require.Equal(t, "gone", a.MemberOf("3"))
	require.Empty(t, a.MemberOf("4"))
}

func TestMember(t *testing.T) {
	seen := arena.MemberSeen{Member: "a", Start: "s", MaxMatches: 3}
	m := arena.EvolveMember(arena.Member{}, seen, noon)
	require.Equal(t, arena.Member{MemberSeen: seen, At: noon}, m)
	m = arena.EvolveMember(m, arena.MemberLeft{Member: "a", Start: "s"}, noon.Add(time.Second))
	require.True(t, m.Left)
	m = arena.EvolveMember(m, arena.MemberSeen{Member: "a", Start: "t"}, noon)
	require.False(t, m.Left, "the process has started again")
	require.Equal(t, m, arena.EvolveMember(m, arena.DrainStarted{}, noon))
}

// Members come and go, and matches begin and end, in random order.
func TestAssignKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a arena.Assignments
		next := 0
		var open []arena.Unfinished
		alive := map[string]arena.MemberSeen{}
		key := rapid.SampledFrom([]string{"k1", "k2", "k3"})
		t.Repeat(map[string]func(*rapid.T){
			"seat": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "tables") {
					open = append(open, arena.Unfinished{ID: fmt.Sprint(next), SeedKey: key.Draw(t, "key")})
					next++
				}
			},
			"end": func(t *rapid.T) {
				if len(open) > 0 {
					i := rapid.IntRange(0, len(open)-1).Draw(t, "match")
					open = slices.Delete(open, i, i+1)
				}
			},
			"come": func(t *rapid.T) {
				id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "member")
				alive[id] = arena.MemberSeen{Member: id, MaxMatches: rapid.IntRange(0, 5).Draw(t, "capacity"), SeedKeys: rapid.SliceOfDistinct(key, rapid.ID[string]).Draw(t, "keys")}
			},
			"go": func(t *rapid.T) {
				delete(alive, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "member"))
			},
			"": func(t *rapid.T) { a = assignAndCheck(t, a, alive, open) },
		})
	})
}

// assignAndCheck assigns the open matches, and checks the result.
func assignAndCheck(t *rapid.T, a arena.Assignments, alive map[string]arena.MemberSeen, open []arena.Unfinished) arena.Assignments {
	members := slices.Collect(maps.Values(alive)) // in random order
	got, err := a.Assign(1, members, open)
	require.NoError(t, err)
	after := a
	for _, e := range got {
		after = arena.EvolveAssignments(after, e, noon)
	}
	shuffled, err := a.Assign(1, rapid.Permutation(members).Draw(t, "members"), open)
	require.NoError(t, err)
	require.Equal(t, got, shuffled, "the order of the members does not matter")
	again, err := after.Assign(1, members, open)
	require.NoError(t, err)
	require.Empty(t, again, "a second assignment changes nothing")

	free := map[string]int{} // before the matches that move
	for _, m := range members {
		free[m.Member] = m.MaxMatches
	}
	for _, m := range open {
		free[a.MemberOf(m.ID)]--
	}
	moved := false
	for _, m := range open {
		before, now := a.MemberOf(m.ID), after.MemberOf(m.ID)
		member, isAlive := alive[before]
		stays := isAlive && slices.Contains(member.SeedKeys, m.SeedKey)
		able := slices.ContainsFunc(members, func(s arena.MemberSeen) bool { return slices.Contains(s.SeedKeys, m.SeedKey) })
		switch {
		case stays, !able:
			require.Equal(t, before, now, "match %s stays", m.ID)
		default:
			moved = true
			require.Contains(t, alive, now, "match %s", m.ID)
			require.Contains(t, alive[now].SeedKeys, m.SeedKey, "match %s", m.ID)
			for _, other := range members {
				if slices.Contains(other.SeedKeys, m.SeedKey) {
					require.LessOrEqual(t, free[other.Member], free[now], "match %s: %s has more room than %s", m.ID, other.Member, now)
				}
			}
			free[now]--
		}
	}
	require.Equal(t, moved, len(got) > 0, "an event is stored only for a change")
	return after
}

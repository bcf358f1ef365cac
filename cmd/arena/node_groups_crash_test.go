package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"hexarena/eventstore/logtest"
)

// A read-only node is killed while strangers create and delete persistent
// subscriptions, and while unused ones expire. No acknowledged change is lost, no
// group exists twice, and each group keeps its owner.
func TestKill9KeepsTheGroupsOfStrangers(t *testing.T) {
	t.Parallel()
	random := logtest.Random(t)
	n := newPublicNode(t)
	kept, changes := map[string]bool{}, 0 // kept contains the names of the groups that exist
	for round := range 8 {
		changes += n.killWhileChanging(fmt.Sprintf("127.0.3.%d", 1+round), round, 1+random.IntN(40), kept)
	}
	t.Logf("8 kills, %d acknowledged changes, %d groups", changes, len(kept))
	require.NotEmpty(t, kept)

	n.end(syscall.SIGTERM)
	n.start("--group-expiry", "1ms")
	for n.metric("arena_node_groups_expired_total") == 0 {
		require.NoError(t, t.Context().Err())
	}
	n.kill()
	n.start()
	left := n.found(t, kept) // also makes the node read the groups, so that the metric counts them
	require.Less(t, len(left), len(kept), "an expired group does not come back")
	require.EqualValues(t, len(left), n.metric("arena_node_groups"))
}

// killWhileChanging kills the node while a stranger creates and deletes groups: after
// some of these changes, and during the next one. It then restarts the node, checks
// the groups, and updates the map kept. It returns the number of acknowledged changes.
func (n *publicNode) killWhileChanging(from string, round, after int, kept map[string]bool) (changes int) {
	n.t.Helper()
	s, code, unknown := n.stranger(n.t, from), codes.OK, ""
	for ; code == codes.OK; changes++ {
		if changes == after {
			n.killAfter(0)
		}
		unknown = fmt.Sprintf("%d-%d", round, changes%3)
		if kept[unknown] {
			if code = s.delete(unknown); code == codes.OK {
				delete(kept, unknown)
			}
		} else if code = s.create(unknown, "."); code == codes.OK {
			kept[unknown] = true
		}
	}
	require.Equal(n.t, codes.Unavailable, code)
	n.awaitExit()
	n.start()

	owner, thief := n.stranger(n.t, from), n.stranger(n.t, "127.0.4.1")
	if _, code := owner.info(unknown); code == codes.OK {
		kept[unknown] = true // whether the last change was stored is unknown
	} else {
		delete(kept, unknown)
	}
	require.Len(n.t, n.found(n.t, kept), len(kept), "round %d", round)
	require.EqualValues(n.t, len(kept), n.metric("arena_node_groups"), "round %d", round)
	for i := range 3 {
		if name := fmt.Sprintf("%d-%d", round, i); kept[name] {
			require.Equal(n.t, codes.PermissionDenied, thief.delete(name))
			require.Equal(n.t, codes.OK, owner.update(name), "the owner is still the owner")
		}
	}
	return changes - 1
}

// The method found() returns the names that belong to existing groups.
func (n *publicNode) found(t *testing.T, names map[string]bool) (found []string) {
	t.Helper()
	s := n.stranger(t, "127.0.4.2")
	for name := range names {
		if _, code := s.info(name); code == codes.OK {
			found = append(found, name)
		} else {
			require.Equal(t, codes.NotFound, code)
		}
	}
	return found
}

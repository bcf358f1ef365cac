package arenatest

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/projections"
)

// Follow returns a runner of a read model. The runner's file is in a temporary
// folder.
func Follow(t testing.TB, log eventstore.Log, model projections.Model) *projections.Runner {
	t.Helper()
	return FollowIn(t, t.TempDir(), log, model)
}

// FollowIn is like Follow, but the runner's file is in dir.
func FollowIn(t testing.TB, dir string, log eventstore.Log, model projections.Model) *projections.Runner {
	t.Helper()
	r, err := projections.Open(dir, log, model, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// Dump returns a read model's rows as text.
func Dump(t testing.TB, r *projections.Runner) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.Dump(&b))
	return b.String()
}

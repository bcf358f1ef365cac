package projections_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/projections"
)

// Several callers may be the first to run a query.
func TestQueriesRunConcurrently(t *testing.T) {
	rows, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "rows.db"))
	require.NoError(t, err)
	defer rows.Close()
	q := projections.NewQueries(rows)
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			for range 10 {
				var next int
				if err := q.QueryRowContext(t.Context(), "SELECT ? + 1", i).Scan(&next); err != nil || next != i+1 {
					t.Errorf("%d + 1 is %d: %v", i, next, err)
				}
			}
		})
	}
	callers.Wait()
}

func TestQueriesReturnErrors(t *testing.T) {
	rows, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "rows.db"))
	require.NoError(t, err)
	defer rows.Close()
	q := projections.NewQueries(rows)
	var n int
	require.ErrorContains(t, q.QueryRowContext(t.Context(), "SELECT n FROM absent").Scan(&n), "no such table")
	_, err = q.QueryContext(t.Context(), "SELECT n FROM absent") //nolint:rowserrcheck,sqlclosecheck // it returns no rows
	require.ErrorContains(t, err, "no such table")
	require.ErrorIs(t, q.QueryRowContext(t.Context(), "SELECT 1 WHERE 0").Scan(&n), sql.ErrNoRows)
}

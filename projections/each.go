package projections

import (
	"context"
	"database/sql"
)

// Scan reads the columns of the current row into variables.
type Scan func(into ...any) error

// Each calls read for each row of a query, and stops at the first error.
func Each(rows *sql.DB, read func(Scan) error, query string, args ...any) error {
	found, err := rows.QueryContext(context.Background(), query, args...)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := read(found.Scan); err != nil {
			return err
		}
	}
	return found.Err()
}

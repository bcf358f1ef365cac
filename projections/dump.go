package projections

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
)

// dumpedTables is a query for the names of all tables except the checkpoint. For
// each table, it also returns an SQL expression that formats a row of the table as
// text.
const dumpedTables = `
	SELECT name, (SELECT group_concat('quote("' || name || '")', ' || ''|'' || ') FROM pragma_table_info(t.name))
	FROM sqlite_schema t WHERE type = 'table' AND name <> 'checkpoint' AND name NOT LIKE 'sqlite_%' ORDER BY name`

// Dump writes all rows except the checkpoint, one on each line. It sorts the
// tables by name and the rows by their text, so equal rows give equal bytes.
func Dump(w io.Writer, rows *sql.DB) error {
	out := bufio.NewWriter(w)
	err := Each(rows, func(scan Scan) error {
		var table, text string
		if err := scan(&table, &text); err != nil {
			return err
		}
		return Each(rows, func(scan Scan) error {
			var line string
			if err := scan(&line); err != nil {
				return fmt.Errorf("dump %s: %w", table, err)
			}
			_, err := fmt.Fprintf(out, "%s|%s\n", table, line)
			return err
		}, fmt.Sprintf(`SELECT %s AS line FROM "%s" ORDER BY line`, text, table))
	}, dumpedTables)
	return errors.Join(err, out.Flush())
}

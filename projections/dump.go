package projections

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"strings"
)

// Dump writes all rows except the checkpoint, one to a line. Tables are sorted by
// name and rows by their columns, so equal rows give equal bytes.
func Dump(w io.Writer, rows *sql.DB) error {
	names, err := column(rows, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'checkpoint' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, table := range names {
		if err := dumpTable(out, rows, table); err != nil {
			return fmt.Errorf("dump %s: %w", table, err)
		}
	}
	return out.Flush()
}

func dumpTable(w io.Writer, rows *sql.DB, table string) error {
	columns, err := column(rows, "SELECT name FROM pragma_table_info(?) ORDER BY cid", table)
	if err != nil {
		return err
	}
	quoted := make([]string, len(columns))
	order := make([]string, len(columns))
	for i, c := range columns {
		quoted[i], order[i] = `quote("`+c+`")`, `"`+c+`"`
	}
	return Each(rows, func(scan Scan) error {
		var line string
		if err := scan(&line); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "%s|%s\n", table, line)
		return err
	}, fmt.Sprintf(`SELECT %s FROM "%s" ORDER BY %s`, strings.Join(quoted, " || '|' || "), table, strings.Join(order, ", ")))
}

// column returns the values of a query with one text column.
func column(rows *sql.DB, query string, args ...any) (list []string, err error) {
	err = Each(rows, func(scan Scan) error {
		var value string
		err := scan(&value)
		list = append(list, value)
		return err
	}, query, args...)
	return list, err
}

package api

import "time"

// timeFormat is that of every time in an answer: RFC 3339, UTC, milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

func formatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// formatTimeOrNull writes the zero time as null.
func formatTimeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := formatTime(t)
	return &text
}

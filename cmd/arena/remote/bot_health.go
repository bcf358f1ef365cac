package remote

import (
	"fmt"
	"io"
	"time"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
)

// The constant unknown is printed in place of data that the arena does not know.
const unknown = "unknown"

func healthState(b rest.Bot) string {
	if b.Health == nil {
		return unknown
	}
	return b.Health.State
}

func seatingWords(b rest.Bot) string {
	if b.Seating == nil {
		return unknown
	}
	return client.OneLine(b.Seating.Words(minuteOf))
}

// printHealth prints a bot's health. base is the URL of the bot's arena.
func printHealth(w io.Writer, b rest.Bot, base string) {
	h := b.Health
	if h == nil {
		return
	}
	fmt.Fprintf(w, "%s since %s\n", h.State, minuteOf(h.Since))
	if e := h.LastError; e != nil {
		fmt.Fprintf(w, "latest error, %s: %s (%s)\n", minuteOf(e.At), client.OneLine(e.Message), e.Code)
		fmt.Fprintf(w, "see %s/watch/%s#%d\n", base, e.MatchID, e.Seq)
	}
	if r := h.Recent; r.Matches > 0 {
		fmt.Fprintf(w, "in the latest matches (%d): strikes %d (without a usable answer %d, illegal answers %d), resigned %d, missed %d\n",
			r.Matches, r.Strikes, r.Timeouts, r.Illegal, r.Resigned, r.Missed)
	}
}

// minuteOf formats a time from the API, without its seconds.
func minuteOf(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return client.OneLine(text)
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

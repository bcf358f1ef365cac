package remote

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
)

func TestPrintHealth(t *testing.T) {
	printed := func(b rest.Bot) string {
		var w bytes.Buffer
		printBot(&w, b)
		printHealth(&w, b, "https://arena.example")
		return w.String()
	}
	b := rest.Bot{ID: "1", Name: "Ada", Mode: "standard", Status: "active", URL: "https://a.example"}
	require.Equal(t, "Ada\tstandard\tactive\thttps://a.example\t1\tunknown\tunknown\n", printed(b))

	since, until := "2026-11-24T14:00:30.000Z", "2026-11-24T14:03:00.000Z"
	b.Seating = &rest.BotSeating{State: rest.SeatingResting, Since: &since, Until: &until}
	b.Health = &rest.BotHealth{
		State: "failing", Since: since, Recent: rest.BotRecent{Matches: 2, Strikes: 6, Resigned: 2, Timeouts: 4, Illegal: 2},
		LastError: &rest.BotError{MatchID: "m", Seq: 44, At: since, Code: "closed", Message: "closed by the bot with code 1011 \"\u202e\x1b[31m\""},
	}
	text := printed(b)
	require.NotContains(t, text, "\x1b")
	require.Contains(t, text, "\tfailing\tresting until 2026-11-24 14:03 UTC\n"+
		"failing since 2026-11-24 14:00 UTC\nlatest error, 2026-11-24 14:00 UTC: closed by the bot with code 1011 ")
	require.Contains(t, text, " (closed)\nsee https://arena.example/watch/m#44\n"+
		"in the latest matches (2): strikes 6 (without a usable answer 4, illegal answers 2), resigned 2, missed 0\n")
}

func TestSeatingWords(t *testing.T) {
	at, reason, id := "2026-11-24T14:03:00.000Z", "floods", "m"
	for want, s := range map[string]rest.BotSeating{
		"suspended: floods":                              {State: rest.SeatingSuspended, Since: &at, Reason: &reason},
		"suspended since 2026-11-24 14:03 UTC":           {State: rest.SeatingSuspended, Since: &at},
		"paused since 2026-11-24 14:03 UTC":              {State: rest.SeatingPaused, Since: &at},
		"playing":                                        {State: rest.SeatingPlaying, MatchID: &id},
		"waiting for a table since 2026-11-24 14:03 UTC": {State: rest.SeatingWaiting, Since: &at},
	} {
		require.Equal(t, want, seatingWords(rest.Bot{Seating: &s}))
	}
}

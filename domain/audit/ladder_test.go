package audit_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
)

// The type stored is an event as a ladder's stream stores it.
type stored struct {
	at   time.Time
	name string
	data object
}

func storedLadder(t testing.TB) []stored {
	t.Helper()
	a := sample.New(sample.Options{Chance: 3, Bots: 15, Mischief: 20, Abort: 5})
	for range 3 {
		a.Tick()
	}
	return eventsOf(t, a.Ladder)
}

// eventsOf returns a ladder's events as its stream stores them.
func eventsOf(t testing.TB, l *sample.Ladder) (list []stored) {
	t.Helper()
	for i, e := range l.Events {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		list = append(list, stored{l.Times[i], e.EventType(), open(t, data).object})
	}
	return list
}

// fold recomputes stored events up to the first one that differs.
func fold(t testing.TB, list []stored) (*audit.Ladder, error) {
	t.Helper()
	l := audit.NewLadder(ladder.Standard, sample.PlatformKey)
	return l, foldInto(t, l, list)
}

func foldInto(t testing.TB, l *audit.Ladder, list []stored) error {
	t.Helper()
	for i, e := range list {
		data, err := json.Marshal(e.data)
		require.NoError(t, err)
		if err := l.Add(uint64(i), e.at, e.name, data); err != nil {
			return err
		}
	}
	return nil
}

func TestALadderIsRecomputed(t *testing.T) {
	list := storedLadder(t)
	l, err := fold(t, list)
	require.NoError(t, err)
	require.Equal(t, len(list), l.Totals.Events)
	require.Equal(t, 15, l.Totals.Bots)
	require.Positive(t, l.Totals.Voided)
	require.Equal(t, l.Totals.Tables, l.Totals.Rated+l.Totals.Voided)
	require.Greater(t, l.Totals.Changes, 3*l.Totals.Rated)
}

func seats(e stored) []any  { return e.data["seats"].([]any) }
func tables(e stored) []any { return e.data["tables"].([]any) }

// up returns the next larger float64.
func up(v any) any {
	f, _ := v.(json.Number).Float64()
	return math.Nextafter(f, 100)
}

// For each kind of tampering with a ladder, both checkers report the revision of
// the forged event.
func TestForgedLaddersAreFound(t *testing.T) {
	list := storedLadder(t)
	of := func(name string, after int) int {
		return after + slices.IndexFunc(list[after:], func(e stored) bool { return e.name == name })
	}
	rated, void, second := of("RatingsChanged", 0), of("MatchVoided", 0), of("TablesSeated", 1)
	forgeries := map[string]struct {
		at    int // the revision at which the audit finds the forgery
		forge func(list []stored) []stored
	}{
		"the last bit of a mu after": {rated, func(l []stored) []stored {
			after := seats(l[rated])[0].(object)["after"].(object)
			after["mu"] = up(after["mu"])
			return l
		}},
		"the last bit of a sigma before": {rated, func(l []stored) []stored {
			before := seats(l[rated])[1].(object)["before"].(object)
			before["sigma"] = up(before["sigma"])
			return l
		}},
		"placements": {rated, func(l []stored) []stored { seats(l[rated])[0].(object)["placement"] = 7; return l }},
		"two places swapped": {rated, func(l []stored) []stored {
			a, b := seats(l[rated])[0].(object), seats(l[rated])[1].(object)
			a["placement"], b["placement"] = 4, 4
			return l
		}},
		"the order of a table": {rated, func(l []stored) []stored { slices.Reverse(seats(l[rated])); return l }},
		"a bot too few":        {rated, func(l []stored) []stored { l[rated].data["seats"] = seats(l[rated])[1:]; return l }},
		"ratings dropped":      {second - 1, func(l []stored) []stored { return slices.Delete(l, rated, rated+1) }},
		"ratings doubled":      {rated + 1, func(l []stored) []stored { return slices.Insert(l, rated, l[rated]) }},
		"an aborted match rated": {void, func(l []stored) []stored {
			l[void] = stored{l[void].at, "RatingsChanged", object{"match": "x", "seats": []any{}}}
			return l
		}},
		"a match without a table": {void, func(l []stored) []stored { l[void].data["match"] = "x"; return l }},
		"a reason of an abort":    {void, func(l []stored) []stored { l[void].data["why"] = "mood"; return l }},
		"a match's id":            {0, func(l []stored) []stored { tables(l[0])[0].(object)["matchId"] = "x"; return l }},
		"a bot at two tables": {0, func(l []stored) []stored {
			tables(l[0])[1].(object)["bots"].([]any)[0] = tables(l[0])[0].(object)["bots"].([]any)[0]
			return l
		}},
		"tables in another order": {second, func(l []stored) []stored {
			a, b := tables(l[second])[0].(object), tables(l[second])[2].(object)
			a["bots"].([]any)[0], b["bots"].([]any)[0] = b["bots"].([]any)[0], a["bots"].([]any)[0]
			return l
		}},
		"a table of two": {0, func(l []stored) []stored {
			table := tables(l[0])[0].(object)
			table["bots"] = table["bots"].([]any)[:2]
			return l
		}},
		"an unknown event": {1, func(l []stored) []stored { l[1].name = "RatingsForgotten"; return l }},
		"a missing field":  {rated, func(l []stored) []stored { delete(seats(l[rated])[0].(object), "missed"); return l }},
	}
	for name, f := range forgeries {
		t.Run(name, func(t *testing.T) {
			list := f.forge(storedLadder(t))
			l, err := fold(t, list)
			require.Error(t, err)
			t.Log(err)
			require.Equal(t, f.at, l.Totals.Events, err.Error())
			pythonDiffers(t, list, f.at)
			var d *audit.LadderDifference
			if errors.As(err, &d) {
				require.Equal(t, uint64(f.at), d.Revision)
			}
		})
	}
}

func TestALadderNeedsItsFirstEvents(t *testing.T) {
	l := audit.NewLadder(ladder.Standard, "")
	require.ErrorContains(t, l.Add(4, time.Time{}, "MatchVoided", []byte(`{"match":"x","why":"operator"}`)), "revision 0")
}

// The audit finds contradictions between a record and its ladder.
func TestARecordIsComparedWithItsLadder(t *testing.T) {
	a := sample.New(sample.Options{Chance: 4, Bots: 4})
	record := a.Tick()[0]
	id := idOf(t, record)
	good := ladderOf(t, a, id)
	require.Nil(t, verify(t, record, audit.Evidence{Ladder: good}).Difference)

	another := sample.New(sample.Options{Chance: 4, Bots: 3})
	another.Tick()
	for name, c := range map[string]struct {
		ladder *audit.Ladder
		says   string
	}{
		"that never seated it": {ladderOf(t, another, "x"), "never seated"},
		"that seated others":   {ladderOf(t, another, id), "the table"},
		"of another mode":      {audit.NewLadder(ladder.Parley, ""), "never seated"},
		"that has not ended it": {func() *audit.Ladder {
			l := audit.NewLadder(ladder.Standard, "", id)
			data, err := json.Marshal(a.Events[0])
			require.NoError(t, err)
			require.NoError(t, l.Add(0, a.Times[0], "TablesSeated", data))
			return l
		}(), "running"},
	} {
		t.Run(name, func(t *testing.T) {
			d := verify(t, record, audit.Evidence{Ladder: c.ladder}).Difference
			require.NotNil(t, d)
			require.Equal(t, audit.CheckRating, d.Check)
			require.ErrorContains(t, d, c.says)
		})
	}
}

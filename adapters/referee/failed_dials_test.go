package referee

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// failedDials returns the number of failed dials of a bot's seat, from the metadata of
// each of its timeouts.
func (f *fixture) failedDials(b *fakeBot) (counts []int) {
	f.t.Helper()
	seat := f.seatOf(b)
	for r := range f.recorded() {
		e, err := match.Decode(r.Type, r.Data)
		require.NoError(f.t, err)
		m, err := eventstore.DecodeMetadata(r)
		require.NoError(f.t, err)
		if e, ok := e.(match.DecisionTimedOut); ok && e.Seat == seat {
			n := 0
			if m.FailedDials != nil {
				n = m.FailedDials[seat]
			}
			counts = append(counts, n)
		}
	}
	return counts
}

// The metadata counts decisions for which no dial succeeded, and nothing else. A
// referee that resumes the match continues the count.
func TestFailedDialsAreCounted(t *testing.T) {
	refused := func(context.Context, int) error { return errRefused }
	up := func(context.Context, int) error { return nil }
	drops := func(c call) bool { c.line.sends(think, "", match.CauseDropped); return true }
	for name, c := range map[string]struct {
		refuse func(ctx context.Context, nth int) error
		script func(c call) bool
		want   []int
	}{
		"dead":        {refused, nil, []int{1, 2, 3}},
		"not allowed": {func(context.Context, int) error { return notAllowedError{} }, nil, []int{1, 2, 3}},
		"hanging":     {func(ctx context.Context, _ int) error { return hangs(ctx) }, nil, []int{1, 2, 3}},
		"silent":      {up, func(call) bool { return true }, []int{0, 0, 0}},
		"drops":       {up, drops, []int{0, 0, 0}},
		"dies during the first decision": {func(_ context.Context, nth int) error {
			if nth == 1 {
				return nil
			}
			return errRefused
		}, drops, []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				bot := f.bots[1]
				bot.refuse, bot.script = c.refuse, c.script
				f.run()
				require.Equal(t, c.want, f.failedDials(bot))
			})
		})
		t.Run(name+", resumed", func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				bot := f.bots[1]
				bot.refuse, bot.script = c.refuse, c.script
				f.stopAfter(match.DecisionTimedOut{})
				f.untilOver()
				require.Len(t, only[match.Claimed](f.events()), match.MaxStrikes)
				require.Equal(t, c.want, f.failedDials(bot))
			})
		})
	}
}

package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/projections/frames"
)

// A stream waits for the reasons of the last timeouts, even if several follow each other.
func TestWithoutUnexplained(t *testing.T) {
	reason := "the answer is malformed"
	played := rest.TrialDecision{Outcome: frames.Played}
	explained := rest.TrialDecision{Outcome: frames.Timeout, Message: &reason}
	unexplained := rest.TrialDecision{Outcome: frames.Timeout}
	for name, test := range map[string]struct {
		list []rest.TrialDecision
		want int
	}{
		"no decisions":            {nil, 0},
		"all explained":           {[]rest.TrialDecision{played, explained}, 2},
		"the last one":            {[]rest.TrialDecision{explained, unexplained}, 1},
		"the last two":            {[]rest.TrialDecision{played, unexplained, unexplained}, 1},
		"all":                     {[]rest.TrialDecision{unexplained, unexplained}, 0},
		"before another decision": {[]rest.TrialDecision{unexplained, played}, 2},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.list[:test.want], withoutUnexplained(test.list)) })
	}
}

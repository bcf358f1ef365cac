package logtest_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

func TestEachCaseHasANameAndAProperty(t *testing.T) {
	section := regexp.MustCompile(`^(Append|Append, idempotence|Positions and reads|Metadata|Deletes|Subscriptions|port): .{10,}`)
	names := map[string]bool{}
	for _, c := range logtest.Cases() {
		require.Regexp(t, section, c.Property, c.Name)
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
	}
	require.GreaterOrEqual(t, len(names), 50)
}

package bench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProjections(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, asText(projectionsCmd{Matches: 5, Events: 10, Folded: 20, Bots: 20}).Run(t.Context(), printingTo(&out)))
	require.Equal(t, 6, strings.Count(out.String(), "\n"), out.String())
	require.ErrorContains(t, asText(projectionsCmd{}).Run(t.Context(), printingTo(&out)), "must be above zero")
}

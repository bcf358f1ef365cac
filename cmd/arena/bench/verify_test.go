package bench

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBenchVerifyPrintsOneObject(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, asJSON(verifyCmd{Matches: 3, Changes: 100}).Run(t.Context(), printingTo(&out)))
	var r verifyReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, 3, r.Matches)
	require.GreaterOrEqual(t, r.Changes, 100)
	require.Positive(t, r.MatchesPerSecond)
	require.Positive(t, r.RecomputePerSecond)
	require.Positive(t, r.ChangesPerSecond)
	require.Positive(t, r.NodeChangesPerSecond)
	require.Error(t, asText(verifyCmd{}).Run(t.Context(), printingTo(&out)))
}

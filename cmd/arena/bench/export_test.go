package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExport(t *testing.T) {
	for mode := range pace {
		t.Run(mode, func(t *testing.T) { testExport(t, mode) })
	}
}

func testExport(t *testing.T, mode string) {
	var out bytes.Buffer
	require.NoError(t, asJSON(exportCmd{Tables: 3, Matches: 2, Mode: mode, Dir: t.TempDir()}).Run(t.Context(), printingTo(&out)))
	var report exportReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Equal(t, 6, report.Matches)
	require.Greater(t, report.Events, 600)
	require.Len(t, report.Exports, 2)
	for name, figure := range map[string]float64{
		"play": report.PlaySeconds, "log": report.LogMB, "read": report.ReadAllSecs, "subscribe": report.SubscribeSecs, "publish": report.PublishSecs, "published": report.PublishedMB,
		"parquet": report.Exports[0].OfReadAll, "its size": report.Exports[0].MB, "jsonl": report.Exports[1].OfReadAll,
	} {
		require.Positive(t, figure, name)
	}
	report.print(&out)
}

func TestExportRejectsNoMatches(t *testing.T) {
	require.ErrorContains(t, asText(exportCmd{Tables: 1}).Run(t.Context(), printingTo(io.Discard)), "must be above zero")
}

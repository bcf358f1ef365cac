package httpgzip

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAccepted(t *testing.T) {
	for header, want := range map[string]bool{
		"":                           false,
		"gzip":                       true,
		"GZip":                       true,
		"x-gzip":                     true,
		"br, gzip;q=0.5":             true,
		"gzip;q=1.0":                 true,
		"gzip; q=0.001":              true,
		"gzip;q=0":                   false,
		"gzip;q=0.000":               false,
		"gzip;Q=0":                   false,
		"gzip;level=9":               false,
		"gzip;q=high":                false,
		"*":                          true,
		"*;q=0":                      false,
		"*;q=0, gzip":                true,
		"gzip;q=0, *":                false,
		"identity":                   false,
		"br":                         false,
		"identity;q=1, gzip;q=0.1":   true,
		"deflate, gzip;q=0, br;q=.5": false,
	} {
		require.Equal(t, want, Accepted(http.Header{"Accept-Encoding": {header}}), "%q", header)
	}
	require.True(t, Accepted(http.Header{"Accept-Encoding": {"br", "gzip"}}), "two headers")
	require.False(t, Accepted(http.Header{}))
}

func TestCompress(t *testing.T) {
	for _, text := range []string{"", "body", "the writer of the first is reused"} {
		var b bytes.Buffer
		Compress(&b, []byte(text))
		z, err := gzip.NewReader(&b)
		require.NoError(t, err)
		got, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
}

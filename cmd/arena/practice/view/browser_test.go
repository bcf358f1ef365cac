package view

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBrowserCommand(t *testing.T) {
	screen := func(string) string { return ":0" }
	none := func(string) string { return "" }
	require.Equal(t, []string{"xdg-open", "http://x"}, browserCommand("linux", "http://x", screen))
	require.Nil(t, browserCommand("linux", "http://x", none), "xdg-open could start a browser in the terminal")
	require.Equal(t, []string{"open", "http://x"}, browserCommand("darwin", "http://x", none))
	require.Equal(t, []string{"rundll32", "url.dll,FileProtocolHandler", "http://x"}, browserCommand("windows", "http://x", none))
}

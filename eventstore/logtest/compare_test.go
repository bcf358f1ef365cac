package logtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFirstDifference(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, test := range []struct{ name, want, got, shown string }{
		{"a line", "a\nb\nc", "a\nB\nc", "texts differ, starting at line 2 (3 lines wanted, 3 found)\n- \"b\"\n- \"c\"\n+ \"B\"\n+ \"c\"\n"},
		{"a missing end", "a\nb", "a", "texts differ, starting at line 2 (2 lines wanted, 1 found)\n- \"b\"\n"},
		{"long lines", long, long + "y", "texts differ, starting at line 1 (1 lines wanted, 1 found)\n- \"" + long[:300] + "… (2000 bytes)\"\n+ \"" + long[:300] + "… (2001 bytes)\"\n"},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.shown, firstDifference(test.want, test.got)) })
	}
}

package logtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// shownLines and shownBytes limit the output of a failed comparison.
const (
	shownLines = 5
	shownBytes = 300
)

// RequireSameText fails the test if two texts differ, and prints the first lines
// that differ. Use it for texts that are too long to print in full.
func RequireSameText(t testing.TB, want, got string) {
	t.Helper()
	if want != got {
		t.Fatal(firstDifference(want, got))
	}
}

// RequireSameFiles fails the test if two sets of files differ. The keys are
// file names and the values are contents. It prints which files are in only one
// set. For each file that is in both sets, it prints the first lines that
// differ.
func RequireSameFiles(t testing.TB, want, got map[string]string) {
	t.Helper()
	names := maps.Clone(want)
	maps.Copy(names, got)
	failed := false
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, wanted := want[name]
		g, found := got[name]
		switch {
		case !found:
			t.Errorf("%s: missing (%d bytes wanted)", name, len(w))
		case !wanted:
			t.Errorf("%s: unexpected (%d bytes found)", name, len(g))
		case w != g:
			t.Errorf("%s: %s", name, firstDifference(w, g))
		default:
			continue
		}
		failed = true
	}
	if failed {
		t.FailNow()
	}
}

// firstDifference shows a few lines of both texts, from the first line that
// differs.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	line := 0
	for line < len(w) && line < len(g) && w[line] == g[line] {
		line++
	}
	return fmt.Sprintf("texts differ, starting at line %d (%d lines wanted, %d found)\n%s%s",
		line+1, len(w), len(g), shown("-", w[line:]), shown("+", g[line:]))
}

func shown(sign string, lines []string) string {
	var text strings.Builder
	for _, l := range lines[:min(len(lines), shownLines)] {
		if len(l) > shownBytes {
			l = fmt.Sprintf("%s… (%d bytes)", l[:shownBytes], len(l))
		}
		fmt.Fprintf(&text, "%s %q\n", sign, l)
	}
	return text.String()
}

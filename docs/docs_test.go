// Package docs_test compares the pages of this folder with the code. Everything
// that the pages list must exist, and everything that exists must be listed.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest/problem"
)

// A developer's settings must not reach the bots.
func TestMain(m *testing.M) {
	for _, name := range []string{"ARENA_PUBLIC_KEY", "ARENA_RECIPIENT"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(b)
}

// section returns the text under a heading, down to the next heading of the
// same or a higher level.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, heading+"\n")
	require.True(t, found, "no heading %q", heading)
	level := strings.Count(strings.Fields(heading)[0], "#")
	if end := regexp.MustCompile(`(?m)^#{1,` + string(rune('0'+level)) + `} `).FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}
	return rest
}

// firsts finds all matches of a regular expression, and returns the first group of
// each.
func firsts(pattern, text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// The tables list every code that the program uses for a fault or for a malformed
// answer.
func TestEveryFaultIsListed(t *testing.T) {
	page := read(t, "protocol.md")
	for heading, file := range map[string]string{"### Malformed answers": "malformed.go", "### Faults": "fault.go"} {
		codes := firsts(`\tCode\w+ += "(\w+)"`, read(t, "..", "domain", "match", file))
		require.NotEmpty(t, codes)
		require.ElementsMatch(t, codes, firsts("(?m)^\\| `(\\w+)` \\|", section(t, page, heading)), heading)
	}
}

func TestEveryReasonIsListed(t *testing.T) {
	inCode := firsts(`Reason\w+\s+= "([a-z_]+)"`, read(t, "..", "domain", "game", "reasons.go"))
	require.NotEmpty(t, inCode)
	onPage := firsts("(?m)^\\| `([a-z_]+)` \\|", section(t, read(t, "protocol.md"), "### Reasons for illegal answers"))
	require.ElementsMatch(t, inCode, onPage)
}

func TestEveryErrorCodeIsListed(t *testing.T) {
	onPage := firsts("(?m)^\\| \\d{3} \\| `([a-z_]+)` \\|", read(t, "errors.md"))
	slices.Sort(onPage)
	require.Equal(t, problem.Codes(), slices.Compact(onPage))
}

// The pages list every flag: each field of the structs that the flag parser reads.
func TestEveryFlagIsListed(t *testing.T) {
	inCode := flagsOf(t, filepath.Join("..", "cmd", "arena", "config.go"), "pace", "config")
	onPage := map[string]string{}
	table := section(t, read(t, "operations.md"), "## Flags of `arena serve`")
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (.*?) \\|").FindAllStringSubmatch(table, -1) {
		onPage[row[1]] = strings.Trim(row[2], "`")
	}
	for name, value := range inCode {
		require.Contains(t, onPage, name)
		if value == "true" {
			value = "on"
		}
		if value != "" {
			require.Equal(t, value, onPage[name], "the default of --%s", name)
		}
	}
	for name := range onPage {
		require.Contains(t, inCode, name, "--%s is not a flag", name)
	}
}

// flagsOf returns the default of each flag in the named structs of a file.
func flagsOf(t *testing.T, file string, structs ...string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	flags := map[string]string{}
	for _, name := range structs {
		object := parsed.Scope.Lookup(name)
		require.NotNil(t, object, "%s has no %s", file, name)
		for _, f := range object.Decl.(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
			if f.Tag == nil {
				continue
			}
			tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
			flag := tag.Get("name")
			if flag == "" {
				flag = dashed(f.Names[0].Name)
			}
			flags[flag] = tag.Get("default")
		}
	}
	return flags
}

// The function dashed() returns a flag's name in the form in which the parser prints
// it: NodeListen becomes node-listen.
func dashed(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func TestEveryMakeTargetIsListed(t *testing.T) {
	targets := firsts(`(?m)^([a-z-]+):.*##`, read(t, "..", "Makefile"))
	require.NotEmpty(t, targets)
	onPage := firsts("(?m)^\\| `make ([a-z-]+)` \\|", read(t, "..", "README.md"))
	require.ElementsMatch(t, targets, onPage)
}

// After its introduction, the changelog holds only dated entries of changes,
// newest first.
func TestChangelogIsWellFormed(t *testing.T) {
	_, entries, found := strings.Cut("\n"+read(t, "CHANGELOG.md"), "\n## ")
	require.True(t, found)
	last := "9999-12-31"
	for entry := range strings.SplitSeq(entries, "\n## ") {
		date, changes, _ := strings.Cut(entry, "\n")
		_, err := time.Parse(time.DateOnly, date)
		require.NoError(t, err)
		require.Less(t, date, last, "newest first")
		last = date
		for line := range strings.SplitSeq(strings.TrimSpace(changes), "\n") {
			require.Regexp(t, `^- \S.*\.$`, line)
		}
	}
}

// allPages returns the paths of all pages that people read.
func allPages(t *testing.T) []string {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	records, err := filepath.Glob(filepath.Join("adr", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, records)
	return append(append(pages, records...), filepath.Join("..", "README.md"), filepath.Join("kits", "README.md"))
}

// No page contains the lines that mark a merge conflict in Git.
func TestNoConflictIsLeft(t *testing.T) {
	for _, page := range allPages(t) {
		require.Empty(t, firsts(`(?m)^((?:<{7}|={7}|>{7})(?: .*)?)$`, read(t, page)), page)
	}
}

// Links point to files and headings that exist.
func TestLinksLead(t *testing.T) {
	for _, page := range allPages(t) {
		for _, link := range firsts(`\]\(([^)]+)\)`, read(t, page)) {
			if strings.Contains(link, "://") {
				continue
			}
			path, anchor, _ := strings.Cut(link, "#")
			target := filepath.Join(filepath.Dir(page), path)
			if path == "" {
				target = page
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", page, link)
			if anchor != "" {
				require.Contains(t, anchors(read(t, target)), anchor, "%s links to %s", page, link)
			}
		}
	}
}

// anchors returns the anchors of a page's headings, as links use them.
func anchors(page string) []string {
	var all []string
	for _, heading := range firsts(`(?m)^#+ (.+)$`, page) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			default:
				return -1
			}
		}, heading))
	}
	return all
}

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var namedTest = regexp.MustCompile("`([a-z/]+): (Test\\w+)(?:/([^`]+))?`")

// Every row in the tables of attacks names its tests, and these tests exist.
// The page names every part of the TestSecurity tests.
func TestEveryAttackHasItsTest(t *testing.T) {
	page := read(t, "security.md")
	named := map[string]bool{}
	packages := map[string]map[string][]string{}
	rows := regexp.MustCompile(`(?m)^\| [^|]+ \| [^|]+ \| ([^|]+) \|$`).FindAllStringSubmatch(page, -1)
	require.Greater(t, len(rows), 40)
	for _, row := range rows {
		if row[1] == "Tests" {
			continue
		}
		tests := namedTest.FindAllStringSubmatch(row[1], -1)
		require.NotEmpty(t, tests, "no test in %q", row[0])
		for _, test := range tests {
			in, name, part := test[1], test[2], test[3]
			if packages[in] == nil {
				packages[in] = testsOf(t, filepath.Join("..", filepath.FromSlash(in)))
			}
			parts, ok := packages[in][name]
			require.True(t, ok, "%s has no %s", in, name)
			if part != "" {
				require.Contains(t, parts, part, "%s of %s", name, in)
			}
			named[name+"/"+part] = true
		}
	}
	for name, parts := range packages["cmd/arena"] {
		if !strings.HasPrefix(name, "TestSecurity") || name == "TestSecurityAcrossARestart" {
			continue
		}
		for _, part := range parts {
			require.True(t, named[name+"/"+part], "%s/%s is not on the page", name, part)
		}
	}
}

// testsOf returns a package's tests, each with the names of its parts: the keys
// of its tables of functions, and the names that it passes to t.Run.
func testsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	tests := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				tests[f.Name.Name] = partsOf(f)
			}
		}
	}
	return tests
}

func partsOf(f *ast.FuncDecl) (parts []string) {
	add := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				parts = append(parts, text)
			}
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			m, ok := n.Type.(*ast.MapType)
			if !ok {
				return true
			}
			if _, ok := m.Value.(*ast.FuncType); !ok {
				return true
			}
			for _, e := range n.Elts {
				add(e.(*ast.KeyValueExpr).Key)
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Run" && len(n.Args) == 2 {
				add(n.Args[0])
			}
		}
		return true
	})
	return parts
}

package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"hexarena/adapters/rest/httpgzip"
)

//go:embed static
var staticFiles embed.FS

//go:embed templates
var templateFiles embed.FS

// assets contains the files that pages load, at /assets/<version>/<name>. The
// version is a hash of all files. So browsers can cache each file forever, and
// modules can import one another by relative names.
type assets struct {
	version string
	files   map[string]asset // by name
}

type asset struct {
	kind    string // content type
	plain   []byte
	gzipped func() []byte // compresses plain at the first call; nil if that is not shorter
}

// The variable kinds maps file extensions to content types. The table of package mime
// is not used, because it depends on the machine.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

func newAssets() (*assets, error) {
	a := &assets{files: map[string]asset{}}
	sum := sha256.New()
	names, err := fs.Glob(staticFiles, "static/*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := staticFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("web: assets: %w", err)
		}
		kind, ok := kinds[path.Ext(name)]
		if !ok {
			return nil, fmt.Errorf("web: assets: %s: no content type is defined for %s files", name, path.Ext(name))
		}
		a.files[path.Base(name)] = asset{kind: kind, plain: content, gzipped: sync.OnceValue(func() []byte { return compressed(content) })}
		fmt.Fprintf(sum, "%s\x00%d\x00", name, len(content))
		sum.Write(content)
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:8])
	return a, nil
}

func compressed(content []byte) []byte {
	var b bytes.Buffer
	z := must(gzip.NewWriterLevel(&b, gzip.BestCompression))
	_, _ = z.Write(content) // a write to a bytes.Buffer never fails
	_ = z.Close()
	if b.Len() >= len(content) {
		return nil
	}
	return b.Bytes()
}

// The function must() returns a value, or panics if there is an error. Use it only for
// calls whose arguments are embedded in the program, because these calls do not fail.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// path returns the URL path of a file. Templates call it.
func (a *assets) path(name string) (string, error) {
	if _, ok := a.files[name]; !ok {
		return "", fmt.Errorf("asset %q does not exist", name)
	}
	return "/assets/" + a.version + "/" + name, nil
}

// policy returns the Content-Security-Policy of a file. Scripts need a policy
// because they may run as workers, and images because a browser may show them
// outside a page.
func (f asset) policy() string {
	if strings.HasPrefix(f.kind, "text/javascript") {
		return "default-src 'none'; script-src 'self'; connect-src 'self'"
	}
	return "default-src 'none'; style-src 'unsafe-inline'"
}

// serveAsset sends a file. If the version in the URL is not the current one, the
// browser still gets the current file, but must revalidate it before each use.
func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request, name string, current bool) {
	f, ok := s.assets.files[name]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.passToAPI(w, r)
		return
	}
	h := w.Header()
	if wait := s.CountFile(h, r); wait > 0 {
		h.Set("Retry-After", strconv.Itoa(wait))
		http.Error(w, "too many files within a minute", http.StatusTooManyRequests)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", f.policy())
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if current {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("ETag", `W/"`+s.assets.version+`"`)
	if r.Header.Get("If-None-Match") == h.Get("ETag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := f.plain
	if httpgzip.Accepted(r.Header) {
		if gzipped := f.gzipped(); gzipped != nil {
			h.Set("Content-Encoding", "gzip")
			content = gzipped
		}
	}
	_, _ = w.Write(content) // fails only if the client is gone
}

// The type templates maps file names to the templates of pages. Each includes
// templates/shared.
type templates map[string]*template.Template

func newTemplates() (templates, error) {
	a, err := assetsOnce()
	if err != nil {
		return nil, err
	}
	shared, err := template.New("").Funcs(boardFuncs).Funcs(funcs(a)).ParseFS(templateFiles, "templates/shared/*.html")
	if err != nil {
		return nil, fmt.Errorf("web: templates: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	all := templates{}
	for _, file := range files {
		t, err := shared.Clone()
		if err == nil {
			_, err = t.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("web: templates: %w", err)
		}
		all[path.Base(file)] = t
	}
	return all, nil
}

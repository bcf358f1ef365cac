package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hexarena/docs"
)

// document is a text that stays the same while the program runs.
type document struct {
	kind    string // its content type
	etag    string
	content []byte
	policy  string // of a page: its Content-Security-Policy
}

func newDocument(kind string, content []byte) document {
	return document{kind: kind, etag: etagOf(content), content: content}
}

// etagOf names a content, however it is compressed.
func etagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

type documentOutput struct{ Body document }

// writeDocument answers with a document, or with 304 where the caller has it.
func (c *call) writeDocument(status int, d document) {
	w := c.echo.Response()
	h := w.Header()
	h.Set("Content-Type", d.kind)
	h.Set("ETag", d.etag)
	h.Set("Cache-Control", "no-cache")
	if d.policy != "" {
		h.Set("Content-Security-Policy", d.policy)
	}
	if holds(c.request.Header, d.etag) {
		h.Add("Vary", "Accept-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if c.compresses(len(d.content)) {
		writeCompressed(w, status, d.content)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(d.content) // who went away needs no answer
}

// holds says whether a caller has what an entity tag names (RFC 9110, 13.1.2).
func holds(h http.Header, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(h.Values("If-None-Match"), ","), ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// artifacts are the documents that are made once everything is registered.
type artifacts struct {
	openAPI, llms, reference, changelog document
}

func (s *Server) registerArtifacts() {
	fixed := func(d *document) func(*call, *nothing) (*documentOutput, error) {
		return func(*call, *nothing) (*documentOutput, error) { return &documentOutput{*d}, nil }
	}
	register(s, endpoint[nothing, documentOutput]{
		id: "get-openapi", method: http.MethodGet, path: "/openapi.json", tag: "meta", summary: "This description", run: fixed(&s.artifacts.openAPI),
		answers: []media{{"application/json", func(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeObject} }}},
	})
	register(s, endpoint[nothing, documentOutput]{
		id: "get-llms", method: http.MethodGet, path: "/llms.txt", tag: "meta", summary: "What there is to read, in Markdown",
		run: fixed(&s.artifacts.llms), answers: []media{{kind: "text/markdown"}},
	})
	register(s, endpoint[nothing, documentOutput]{
		id: "get-changelog", method: http.MethodGet, path: "/changelog", tag: "meta", summary: "What has changed for owners, newest first; a page where HTML is asked for",
		run: fixed(&s.artifacts.changelog),
		answers: []media{{"application/json", func(r huma.Registry) *huma.Schema {
			return r.Schema(reflect.TypeFor[changelogEntries](), true, "")
		}}, {kind: "text/html"}},
	})
	register(s, endpoint[nothing, documentOutput]{
		id: "get-reference", method: http.MethodGet, path: "/docs/api", hidden: true, run: fixed(&s.artifacts.reference),
	})
}

// makeArtifacts makes the documents; every endpoint is registered by now.
func (s *Server) makeArtifacts() error {
	s.finishSchemas()
	description := s.api.OpenAPI()
	encoded, err := json.Marshal(description)
	if err != nil {
		return fmt.Errorf("api: encode the description: %w", err)
	}
	log, err := changelog()
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	changes, err := json.Marshal(log)
	if err != nil {
		return fmt.Errorf("api: encode the changelog: %w", err)
	}
	reference, err := referencePage(description)
	if err != nil {
		return fmt.Errorf("api: render the reference: %w", err)
	}
	s.artifacts = artifacts{
		openAPI:   newDocument("application/json", encoded),
		llms:      newDocument("text/markdown; charset=utf-8", []byte(llmsText(s.BaseURL))),
		changelog: newDocument("application/json", changes),
		reference: reference,
	}
	return nil
}

// llmsText is a map of what there is to read (llmstxt.org).
func llmsText(base string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Hex Arena\n\n> %s\n", apiSummary)
	for _, part := range []struct {
		title string
		links [][3]string
	}{
		{"Reference", [][3]string{
			{"OpenAPI 3.1.1", "/openapi.json", "every endpoint, the events of a match, the frames of the match socket"},
			{"API reference", "/docs/api", "the same as a page"},
			{"Changelog", "/changelog", "changes of the protocol, the schemas, the endpoints and the rules, newest first"},
			{"Platform key", "/.well-known/arena.json", "the key that signs the arena's connections to bots"},
		}},
		{"Live data", [][3]string{
			{"Matches", "/matches", "newest first; replay, seed and proof once a match has ended"},
			{"Running matches", "/live", "what runs now; /live/stream tells of every event as it comes"},
			{"Leaderboard", "/leaderboard", "the ranking of a mode"},
		}},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", part.title)
		for _, l := range part.links {
			fmt.Fprintf(&b, "- [%s](%s%s): %s\n", l[0], strings.TrimSuffix(base, "/"), l[1], l[2])
		}
	}
	return b.String()
}

// changelogEntries is the changelog, newest first.
type changelogEntries struct {
	Entries []changelogEntry `json:"entries"`
}

// changelogEntry is one day of changes.
type changelogEntry struct {
	Date    string   `json:"date" format:"date"`
	Changes []string `json:"changes" doc:"Sentences."`
}

func changelog() (changelogEntries, error) {
	page, err := docs.Pages.ReadFile("CHANGELOG.md")
	return parseChangelog(string(page)), err
}

// parseChangelog reads the days, `## 2026-09-06`, and bullets of the Markdown
// page; a bullet may run over several lines.
func parseChangelog(markdown string) changelogEntries {
	log := changelogEntries{Entries: []changelogEntry{}}
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\r\n ")
		n := len(log.Entries)
		switch {
		case strings.HasPrefix(line, "## "):
			log.Entries = append(log.Entries, changelogEntry{Date: strings.TrimSpace(line[3:]), Changes: []string{}})
		case n == 0:
		case strings.HasPrefix(line, "- "):
			log.Entries[n-1].Changes = append(log.Entries[n-1].Changes, line[2:])
		case strings.HasPrefix(line, "  ") && len(log.Entries[n-1].Changes) > 0:
			last := &log.Entries[n-1].Changes[len(log.Entries[n-1].Changes)-1]
			*last += " " + strings.TrimSpace(line)
		}
	}
	slices.SortStableFunc(log.Entries, func(a, b changelogEntry) int { return strings.Compare(b.Date, a.Date) })
	return log
}

package api

import (
	"fmt"
	"net/http"
	"reflect"

	"hexarena/adapters/api/describe"
	"hexarena/adapters/rest"
)

// documents are the texts that describe the API. They stay the same while the
// program runs.
type documents struct {
	openAPI, llms, reference, changelog *response
}

func (s *Server) registerDocuments() {
	fixed := func(r **response) func(*call, *nothing) (*response, error) {
		return func(*call, *nothing) (*response, error) { return *r, nil }
	}
	register(s, endpoint[nothing, *response]{
		id: "get-openapi", method: http.MethodGet, path: "/openapi.json", tag: "meta", summary: "This description", etag: true,
		run: fixed(&s.documents.openAPI), media: []describe.Media{{Type: "application/json", Schema: reflect.TypeFor[describe.AnyObject]()}},
	})
	register(s, endpoint[nothing, *response]{
		id: "get-llms", method: http.MethodGet, path: "/llms.txt", tag: "meta", summary: "A list of the pages and endpoints, in Markdown", etag: true,
		run: fixed(&s.documents.llms), media: []describe.Media{{Type: "text/markdown"}},
	})
	register(s, endpoint[nothing, *response]{
		id: "get-changelog", method: http.MethodGet, path: "/changelog", tag: "meta", etag: true,
		summary: "The changes for owners, newest first; a page for clients that prefer HTML", run: fixed(&s.documents.changelog),
		media: []describe.Media{{Type: "application/json", Schema: reflect.TypeFor[rest.Changelog]()}, {Type: "text/html"}},
	})
	register(s, endpoint[nothing, *response]{
		id: "get-reference", method: http.MethodGet, path: "/docs/api", hidden: true,
		run: fixed(&s.documents.reference), media: []describe.Media{{Type: "text/html"}},
	})
}

// makeDocuments makes the documents. Every endpoint must be registered.
func (s *Server) makeDocuments() error {
	texts, err := s.description.Finish()
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	s.documents = documents{
		openAPI:   newResponse("application/json", revalidated, texts.OpenAPI),
		llms:      newResponse("text/markdown; charset=utf-8", revalidated, texts.LLMs),
		changelog: newResponse("application/json", revalidated, texts.Changelog),
		reference: newResponse("text/html; charset=utf-8", revalidated, texts.Reference),
	}
	s.documents.reference.policy = texts.ReferencePolicy
	return nil
}

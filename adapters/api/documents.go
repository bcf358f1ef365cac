package api

import "fmt"

// document returns a handler for one of the texts that describe the API. If the text is
// JSON, T is its Go type. Otherwise, T is the type nothing.
func document[T any](s *Server, name string) func(*call, *nothing) (maybeEncoded[T], error) {
	return func(*call, *nothing) (maybeEncoded[T], error) {
		documents, err := s.documents()
		return maybeEncoded[T]{encoded: documents[name]}, err
	}
}

// makeDocuments builds the documents. Building them takes longer than the rest of the
// start, so the first request for one of them does it. Call it after all endpoints are
// registered.
func (s *Server) makeDocuments() (map[string]*response, error) {
	texts, err := s.description.Finish()
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	reference := newResponse("text/html; charset=utf-8", revalidated, texts.Reference)
	reference.policy = texts.ReferencePolicy
	return map[string]*response{
		"openapi":   newResponse("application/json", revalidated, texts.OpenAPI),
		"llms":      newResponse("text/markdown; charset=utf-8", revalidated, texts.LLMs),
		"changelog": newResponse("application/json", revalidated, texts.Changelog),
		"reference": reference,
	}, nil
}

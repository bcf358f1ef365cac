package api

import "fmt"

// document returns a handler for one of the texts that describe the API. If the text is
// JSON, T is its Go type. Otherwise, T is the type nothing.
func document[T any](s *Server, name string) func(*call, *nothing) (maybeEncoded[T], error) {
	return func(*call, *nothing) (maybeEncoded[T], error) {
		return maybeEncoded[T]{encoded: s.documents[name]}, nil
	}
}

// makeDocuments builds the documents, which do not change while the program runs. Call
// it after all endpoints are registered.
func (s *Server) makeDocuments() error {
	texts, err := s.description.Finish()
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	s.documents = map[string]*response{
		"openapi":   newResponse("application/json", revalidated, texts.OpenAPI),
		"llms":      newResponse("text/markdown; charset=utf-8", revalidated, texts.LLMs),
		"changelog": newResponse("application/json", revalidated, texts.Changelog),
		"reference": newResponse("text/html; charset=utf-8", revalidated, texts.Reference),
	}
	s.documents["reference"].policy = texts.ReferencePolicy
	return nil
}

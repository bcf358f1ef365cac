package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/api/apitest"
	"hexarena/domain/match"
	"hexarena/projections/arenatest"
)

// fetch returns a public document, without a socket.
func fetch(t *testing.T, server http.Handler, path string) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return w.Body.Bytes()
}

// Two third-party validators accept the document: kin-openapi, and a JSON
// Schema validator with the OpenAPI Initiative's own schema for 3.1 documents.
func TestDescriptionIsOpenAPI31(t *testing.T) {
	document := fetch(t, newArena(t).server, "/openapi.json")

	t.Run("kin-openapi", func(t *testing.T) {
		loaded, err := openapi3.NewLoader().LoadFromData(document)
		require.NoError(t, err)
		require.Equal(t, "3.1.1", loaded.OpenAPI)
		require.NoError(t, loaded.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()))
	})
	t.Run("the OpenAPI Initiative's schema", func(t *testing.T) {
		file, err := os.Open("testdata/oas-3.1-schema-2022-10-07.json")
		require.NoError(t, err)
		defer file.Close()
		meta, err := jsonschema.UnmarshalJSON(file)
		require.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		require.NoError(t, compiler.AddResource("https://spec.openapis.org/oas/3.1/schema/2022-10-07", meta))
		schema, err := compiler.Compile("https://spec.openapis.org/oas/3.1/schema/2022-10-07")
		require.NoError(t, err)
		tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(tree))
		delete(tree.(map[string]any), "info")
		require.Error(t, schema.Validate(tree), "the validator finds the error")
	})
	t.Run("every schema is valid JSON Schema 2020-12", func(t *testing.T) {
		c := contractOf(t, newArena(t).server)
		var parsed struct {
			Components struct {
				Schemas map[string]any `json:"schemas"`
			} `json:"components"`
		}
		require.NoError(t, json.Unmarshal(document, &parsed))
		for name := range parsed.Components.Schemas {
			_, err := c.Schema(apitest.Pointer("components", "schemas", name))
			require.NoError(t, err, name)
		}
	})
}

// The document has the required schemas and operations.
func TestDescription(t *testing.T) {
	a := newArena(t)
	document := a.anyone().do(http.MethodGet, "/openapi.json", nil).is(http.StatusOK).json
	require.Equal(t, "1", document["info"].(map[string]any)["version"])
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	for _, name := range []string{
		"Account", "Bot", "ApiKeyMeta", "MatchSummary", "MatchPlayer", "LiveMatch", "Match", "MatchEvent", "LeaderboardRow", "Problem", "Frame", "Decision",
		"GameView", "DecisionRequest", "DecisionResponse", "ResourceCounts", "TableTalk",
		"SetupAction", "TurnAction", "DiscardAction", "BanditAction", "TradeResponse",
	} {
		require.Contains(t, schemas, name)
	}
	for union, by := range map[string]string{"MatchEvent": "kind", "TurnAction": "type", "ActionData": "kind", "Decision": "kind"} {
		s := schemas[union].(map[string]any)
		discriminator := s["discriminator"].(map[string]any)
		require.Equal(t, by, discriminator["propertyName"])
		require.Len(t, discriminator["mapping"], len(s["oneOf"].([]any)))
		for value, at := range discriminator["mapping"].(map[string]any) {
			named := schemas[strings.TrimPrefix(at.(string), "#/components/schemas/")].(map[string]any)
			require.Equal(t, []any{value}, named["properties"].(map[string]any)[by].(map[string]any)["enum"])
			require.Contains(t, named["required"], by)
		}
	}
	require.Len(t, schemas["MatchEvent"].(map[string]any)["oneOf"], 10)
	require.Len(t, schemas["TurnAction"].(map[string]any)["oneOf"], 11)

	c := contractOf(t, a.server)
	require.Equal(t, []string{
		"change-bot", "check-bot", "confirm-sign-in", "delete-me", "get-arena", "get-bot", "get-bot-history", "get-bot-statistics", "get-changelog", "get-decisions", "get-frames", "get-health",
		"get-ladder-checkpoint", "get-ladder-key", "get-ladder-proof", "get-ladder-statistics", "get-ladder-tile", "get-leaderboard", "get-live", "get-llms", "get-log-consistency", "get-log-head", "get-log-inclusion", "get-match", "get-me", "get-openapi", "get-queue", "get-security-txt", "get-seed-keys", "get-statistics", "get-trial", "get-trial-decisions", "get-trial-frames", "get-win-probability", "list-bot-decisions", "list-bots", "list-keys", "list-ladder-events", "list-live", "list-matches", "order-trial", "patch-me",
		"register-bot", "register-key", "remove-bot", "revoke-key", "send-sign-in-link", "sign-out", "stream-live", "stream-match", "stream-my-events", "stream-trial",
	}, c.IDs())
	page, err := os.ReadFile("describe/operations.yaml")
	require.NoError(t, err)
	var described []string
	for _, id := range regexp.MustCompile("(?m)^([a-z-]+):$").FindAllStringSubmatch(string(page), -1) {
		described = append(described, id[1])
	}
	require.ElementsMatch(t, c.IDs(), described, "operations.yaml describes every operation")
	for _, talk := range []any{
		schemas["EndTurn"].(map[string]any)["properties"].(map[string]any)["talk"],
		schemas["TableTalk"].(map[string]any)["properties"].(map[string]any)["message"],
	} {
		require.EqualValues(t, match.MaxTalk, talk.(map[string]any)["maxLength"])
	}
}

// The document describes the credentials and errors of every operation. Each operation
// has an example that is valid under its schema.
func TestEveryOperationIsDescribed(t *testing.T) {
	a := newArena(t)
	c := contractOf(t, a.server)
	public := map[string]bool{}
	c.Operations(func(path, method string, op apitest.Operation) {
		t.Run(op.ID, func(t *testing.T) {
			require.Contains(t, op.Responses, "413")
			require.Contains(t, op.Responses, "422")
			require.Contains(t, op.Responses, "429")
			require.Contains(t, op.Responses, "400")
			require.Contains(t, op.Responses, "500")
			require.Equal(t, strings.Contains(path, "{"), op.Responses["404"].Content != nil)
			require.Equal(t, method != "get", op.Responses["403"].Content["application/problem+json"].Examples["cross_site"].Value != nil)
			if len(op.Security) == 0 {
				public[op.ID] = true
				_, refused := op.Responses["401"]
				require.Equal(t, op.ID == "confirm-sign-in", refused)
			} else {
				require.Contains(t, op.Responses, "401")
				require.Contains(t, op.Responses, "503")
				session := op.Security[len(op.Security)-1]
				require.Equal(t, map[string][]string{"session": {}}, session)
			}
			if len(op.Security) == 2 {
				require.Len(t, op.Security[0], 3, "the three headers together")
				require.Len(t, op.Security[0]["key"], 1, "one scope")
			}
			for status, r := range op.Responses {
				for kind, m := range r.Content {
					at := apitest.Pointer("paths", path, method, "responses", status, "content", kind, "schema")
					for code, example := range m.Examples {
						body, err := json.Marshal(example.Value)
						require.NoError(t, err)
						require.NoError(t, c.Validate(at, body), "%s %s", status, code)
					}
					if m.Example != nil {
						body, err := json.Marshal(m.Example)
						require.NoError(t, err)
						require.NoError(t, c.Validate(at, body), status)
					} else if kind == "application/json" && !strings.HasPrefix(op.ID, "get-openapi") && !strings.HasPrefix(op.ID, "get-changelog") {
						t.Errorf("%s has no example", status)
					}
				}
			}
			if m, ok := op.RequestBody.Content["application/json"]; ok {
				body, err := json.Marshal(m.Example)
				require.NoError(t, err)
				require.NoError(t, c.Validate(apitest.Pointer("paths", path, method, "requestBody", "content", "application/json", "schema"), body))
			}
		})
	})
	for _, id := range []string{"get-health", "list-matches", "get-match", "get-frames", "list-live", "get-live", "stream-live", "stream-match", "get-leaderboard", "get-arena", "get-openapi", "send-sign-in-link"} {
		require.True(t, public[id], id)
	}
}

// In whole matches, every decision request, answer and event is valid under the schemas
// of the document.
func TestMatchesFitTheDescription(t *testing.T) {
	s := newSpectated(t)
	c := contractOf(t, s.server)
	kinds, actions := map[string]int{}, map[string]int{}
	for _, g := range []*arenatest.Game{s.four, s.three} {
		state := match.New(g.State.ServerSeed)
		for _, e := range g.Events {
			state = match.Evolve(state, e)
			for _, d := range state.Asks() {
				r := state.Request(d)
				r.DeadlineMs = 5000
				require.NoError(t, c.Validate(apitest.Pointer("components", "schemas", "DecisionRequest"), r.AppendJSON(nil)))
			}
			kind, _, _ := match.Publish(e)
			kinds[kind]++
			a, ok := e.(match.ActionPlayed)
			if !ok {
				continue
			}
			name := map[string]string{"setup": "SetupAction", "turn": "TurnAction", "discard": "DiscardAction", "bandit": "BanditAction", "trade": "TradeResponse"}[a.Kind]
			require.NoError(t, c.Validate(apitest.Pointer("components", "schemas", name), a.Action), string(a.Action))
			response, err := json.Marshal(match.Response{ID: a.Decision, Action: a.Action})
			require.NoError(t, err)
			require.NoError(t, c.Validate(apitest.Pointer("components", "schemas", "DecisionResponse"), response))
			actions[name]++
		}
	}
	require.Len(t, actions, 5)
	require.GreaterOrEqual(t, len(kinds), len(match.PublicKinds)-1, "all kinds except a rare one")
	for _, wrong := range []string{`{"type":"build_road"}`, `{"type":"build_road","edge":72}`, `{"type":"fly"}`, `{"edge":1}`, `{"type":"end_turn","talk":1}`} {
		require.Error(t, c.Validate(apitest.Pointer("components", "schemas", "TurnAction"), []byte(wrong)), wrong)
	}
	for _, wrong := range []string{`{"decision":1,"kind":"trade","action":{"type":"end_turn"},"default":false,"elapsedMs":1}`, `{"decision":1,"kind":"fly","action":{},"default":false,"elapsedMs":1}`} {
		require.Error(t, c.Validate(apitest.Pointer("components", "schemas", "ActionData"), []byte(wrong)), wrong)
	}
	for _, wrong := range []string{`{"seq":1,"at":"2026-09-06T12:00:00.000Z","kind":"talk"}`, `{"seq":0,"at":"2026-09-06T12:00:00.000Z","kind":"end"}`, `{"seq":1,"at":"noon","kind":"end"}`, `{"seq":1,"at":"2026-09-06T12:00:00.000Z","kind":"roll"}`} {
		require.Error(t, c.Validate(apitest.Pointer("components", "schemas", "MatchEvent"), []byte(wrong)), wrong)
	}
}

package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// summary says what the API is, in one line.
const apiSummary = "A competitive arena for software bots: rated matches of a hex-island resource game, live and recorded."

const apiAbout = apiSummary + `

Whoever serves a WebSocket can enter: sign in with an e-mail address, register a bot's URL, and the arena calls it. The calls that a bot's server gets are described as webhooks; the frames on the match socket are DecisionRequest and DecisionResponse.

Signed calls: generate an Ed25519 key pair and register its public half (` + "`POST /keys`" + `). Each call then carries its key's id, the time in unix milliseconds, and the base64 of the signature over ` + "`{timestamp}.{METHOD}.{path and query}.{body}`" + `, the body being the raw bytes. The timestamp may be 5 minutes off. A signature of a write is good for one call: sign each with a fresh timestamp.

Bodies are JSON objects; unknown fields and query names are refused by name. Refusals are RFC 9457 problems with a stable ` + "`code`" + `.`

// The security schemes. The three headers of a signature go together.
const (
	schemeKey       = "key"
	schemeTimestamp = "timestamp"
	schemeSignature = "signature"
	schemeSession   = "session"
)

// The headers of answers.
const (
	headerPolicy  = "RateLimit-Policy"
	headerQuota   = "RateLimit"
	headerRetry   = "Retry-After"
	headerPrefix  = "#/components/headers/"
	problemType   = "application/problem+json"
	exampleID     = "73f4345f-3dbd-40fb-9dc5-459eaec013d9"
	exampleMoment = "2026-09-06T12:00:00.000Z"
)

// description is what the document says of the API as a whole.
func (s *Server) description() huma.Config {
	inHeader := func(name, about string) *huma.SecurityScheme {
		return &huma.SecurityScheme{Type: "apiKey", In: "header", Name: name, Description: about}
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.1",
			Info:    &huma.Info{Title: "Hex Arena", Version: "1", Description: apiAbout},
			Servers: []*huma.Server{{URL: s.BaseURL}},
			Components: &huma.Components{
				Schemas: newRegistry(),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					schemeKey:       inHeader("x-arena-key", "The key's id."),
					schemeTimestamp: inHeader("x-arena-timestamp", "Unix milliseconds, within 5 minutes of the service's clock."),
					schemeSignature: inHeader("x-arena-signature", "Base64 of the Ed25519 signature of {timestamp}.{METHOD}.{path and query}.{body}."),
					schemeSession:   {Type: "apiKey", In: "cookie", Name: "__Host-session", Description: "A session by sign-in; it has every scope. On plain http in development the cookie is called session."},
				},
				Headers: answerHeaders(),
			},
			Tags: []*huma.Tag{
				{Name: "account", Description: "Signing in, and the account."},
				{Name: "keys", Description: "API keys, which sign requests."},
				{Name: "bots", Description: "An account's bots."},
				{Name: "matches", Description: "Records of matches, for everyone."},
				{Name: "live", Description: "Matches that run, for everyone."},
				{Name: "leaderboard", Description: "Rankings, for everyone."},
				{Name: "log", Description: "The signed log of results, and the arena's seed keys, for everyone."},
				{Name: "meta", Description: "The service itself."},
			},
			Webhooks: webhooks(),
		},
		Formats:       huma.DefaultFormats,
		DefaultFormat: "application/json",
	}
}

func answerHeaders() map[string]*huma.Header {
	text := func(about, example string) *huma.Header {
		return &huma.Header{Description: about, Schema: &huma.Schema{Type: huma.TypeString}, Example: example}
	}
	return map[string]*huma.Header{
		headerRequestID: text("Names the request.", exampleID),
		headerPolicy:    text("The limits that the call counts against: q calls in w seconds.", `"all";q=600;w=60`),
		headerQuota:     text("What is left of them: r further calls, for t seconds.", `"all";r=599;t=60`),
		headerRetry:     {Description: "Seconds after which the same call may pass.", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: number(1)}, Example: 12},
	}
}

// media is one way in which an endpoint answers; without a schema it is text.
type media struct {
	kind   string
	schema func(huma.Registry) *huma.Schema
}

// describe adds an operation to the document: its parameters and bodies as the
// endpoint's types and their tags say.
func (e *endpoint[In, Out]) describe(s *Server, op *huma.Operation, b binding) {
	for _, p := range b.path {
		op.Parameters = append(op.Parameters, s.parameter("path", p))
	}
	for _, p := range b.query {
		op.Parameters = append(op.Parameters, s.parameter("query", p))
	}
	if b.hasBody {
		op.RequestBody = e.requestBody(s, b)
	}
	op.Description = s.extras[e.id].about
	if e.scope != "" {
		op.Description = strings.TrimSpace(op.Description + "\n\nScope: `" + string(e.scope) + "`.")
	}
	op.Security = e.security()
	op.Responses = e.refusalResponses(s)
	op.Responses[strconv.Itoa(op.DefaultStatus)] = e.response(s, op)
	if e.tagged || e.answers != nil && !e.stream {
		op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: "The caller has it, as If-None-Match says.", Headers: headers()}
	}
	if e.forms {
		op.Responses[strconv.Itoa(http.StatusSeeOther)] = &huma.Response{Description: "The same for a browser that sent a form: go to the page that Location names.", Headers: headers()}
	}
	s.api.OpenAPI().AddOperation(op)
}

// formType is what browsers send forms as.
const formType = "application/x-www-form-urlencoded"

func (e *endpoint[In, Out]) requestBody(s *Server, b binding) *huma.RequestBody {
	body := content("application/json", s.schema(b.bodyField, camel(e.id)+"Input"))
	if e.forms {
		body[formType] = &huma.MediaType{Schema: body["application/json"].Schema}
	}
	if sample := s.extras[e.id].sample; sample != nil {
		body["application/json"].Example = bodyOf(sample.(*In))
	}
	return &huma.RequestBody{Required: true, Content: body}
}

// response describes the answer that is no refusal.
func (e *endpoint[In, Out]) response(s *Server, op *huma.Operation) *huma.Response {
	r := &huma.Response{Description: http.StatusText(op.DefaultStatus), Headers: headers()}
	body, ok := reflect.TypeFor[Out]().FieldByName("Body")
	if !ok {
		return r
	}
	r.Content = map[string]*huma.MediaType{}
	for _, m := range e.answers {
		r.Content[m.kind] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		if m.schema != nil {
			r.Content[m.kind].Schema = m.schema(s.api.OpenAPI().Components.Schemas)
		}
	}
	if e.answers == nil {
		r.Content = content("application/json", s.schema(body, camel(e.id)+"Output"))
	}
	if text := s.extras[e.id].text; text != "" {
		r.Content[e.answers[0].kind].Example = text
	}
	if example := s.extras[e.id].example; example != nil {
		r.Content["application/json"].Example = bodyOf(example.(*Out))
	}
	return r
}

// security says how a call is shown to be the account's: by the three headers
// of a signature, for which the scope is named, or by a session.
func (e *endpoint[In, Out]) security() []map[string][]string {
	session := map[string][]string{schemeSession: {}}
	switch {
	case e.session:
		return []map[string][]string{session}
	case e.scope != "":
		return []map[string][]string{{schemeKey: {string(e.scope)}, schemeTimestamp: {}, schemeSignature: {}}, session}
	}
	return nil
}

func (s *Server) parameter(in string, p parameter) *huma.Param {
	field := p.field
	if field.Type.Kind() == reflect.Pointer {
		field.Type = field.Type.Elem()
	}
	schema := s.schema(field, p.name)
	about := schema.Description
	schema.Description = ""
	if in == "path" && schema.Enum == nil {
		schema.Examples = []any{exampleID}
	}
	return &huma.Param{Name: p.name, In: in, Required: p.required, Schema: schema, Description: about}
}

// schema describes a field's type; a type without a name is named by hint.
func (s *Server) schema(field reflect.StructField, hint string) *huma.Schema {
	return huma.SchemaFromField(s.api.OpenAPI().Components.Schemas, field, hint)
}

func content(kind string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{kind: {Schema: schema}}
}

// headers are those of every answer, and more.
func headers(more ...string) map[string]*huma.Param {
	all := map[string]*huma.Param{}
	for _, name := range append(more, headerRequestID, headerPolicy, headerQuota) {
		all[name] = &huma.Param{Ref: headerPrefix + name}
	}
	return all
}

// bodyOf is the Body of an example as it is encoded.
func bodyOf(example any) any {
	encoded, err := json.Marshal(reflect.ValueOf(example).Elem().FieldByName("Body").Interface())
	if err != nil {
		panic(err) // any start shows it
	}
	var decoded any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		panic(err)
	}
	return decoded
}

// camel writes an operation's id as the name of a schema: get-me, GetMe.
func camel(id string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(id, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// webhooks are the calls that the arena makes to a bot's server.
func webhooks() map[string]*huma.PathItem {
	signed := func(name, about, example string) *huma.Param {
		return &huma.Param{Name: name, In: "header", Required: true, Description: about, Schema: &huma.Schema{Type: huma.TypeString}, Example: example}
	}
	return map[string]*huma.PathItem{
		"ping": {Get: &huma.Operation{
			OperationID: "ping", Summary: "The first part of the deploy check: GET {bot_url}/ping",
			Responses: map[string]*huma.Response{"200": {Description: "The bot is there.", Content: map[string]*huma.MediaType{
				"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}, Example: "pong"},
			}}},
		}},
		"match": {Get: &huma.Operation{
			OperationID: "match", Summary: "The upgrade to a match's WebSocket: GET {bot_url}",
			Description: "Each text frame from the arena is a DecisionRequest, each from the bot a DecisionResponse. The deploy check upgrades too, with `deploy-check` in place of the match's id.",
			Parameters: []*huma.Param{
				signed("x-arena-match", "The match's id.", exampleID),
				signed("x-arena-timestamp", "Unix milliseconds.", "1788696000000"),
				signed("x-arena-signature", "Base64 of the Ed25519 signature of {timestamp}.{matchId} by the key at /.well-known/arena.json.", "c2lnbmF0dXJl"),
			},
			Responses: map[string]*huma.Response{
				"101": {Description: "The socket of the match is open.", Headers: map[string]*huma.Param{
					"x-arena-nonce": {Description: "The bot's share of the match's chance: at most 64 printable characters.", Schema: &huma.Schema{Type: huma.TypeString}},
				}},
				"401": {Description: "The signature does not verify."},
			},
		}},
	}
}

package describe

import "github.com/danielgtaylor/huma/v2"

// apiSummary says what the API is, in one line.
const apiSummary = "A competitive arena for software bots: rated matches of a hex-island resource game, live and recorded."

const apiAbout = apiSummary + `

Anyone who serves a WebSocket can enter: sign in with an e-mail address, register a bot's URL, and the arena calls it. The webhooks describe the calls to a bot's server. The frames on the match socket are DecisionRequest and DecisionResponse.

Signed calls: generate an Ed25519 key pair and register its public half (` + "`POST /keys`" + `). Each call then carries its key's id, the time in unix milliseconds, and the base64 of the signature over ` + "`{timestamp}.{METHOD}.{path and query}.{body}`" + `, where body is the raw bytes. The timestamp may differ from the arena's clock by 5 minutes. A signature of a write is valid for one call: sign each write with a new timestamp.

Bodies are JSON objects. Unknown fields and query parameters are errors, which name them. Errors are RFC 9457 problems with a stable ` + "`code`" + `.`

// The security schemes. The three headers of a signature go together.
const (
	schemeKey       = "key"
	schemeTimestamp = "timestamp"
	schemeSignature = "signature"
	schemeSession   = "session"
)

// The headers of answers.
const (
	headerRequestID = "X-Request-Id"
	headerPolicy    = "RateLimit-Policy"
	headerQuota     = "RateLimit"
	headerRetry     = "Retry-After"
)

// overview describes the API as a whole.
func overview(baseURL string) *huma.OpenAPI {
	inHeader := func(name, about string) *huma.SecurityScheme {
		return &huma.SecurityScheme{Type: "apiKey", In: "header", Name: name, Description: about}
	}
	return &huma.OpenAPI{
		OpenAPI: "3.1.1",
		Info:    &huma.Info{Title: "Hex Arena", Version: "1", Description: apiAbout},
		Servers: []*huma.Server{{URL: baseURL}},
		Components: &huma.Components{
			Schemas: newRegistry(),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				schemeKey:       inHeader("x-arena-key", "The key's id."),
				schemeTimestamp: inHeader("x-arena-timestamp", "Unix milliseconds, within 5 minutes of the service's clock."),
				schemeSignature: inHeader("x-arena-signature", "Base64 of the Ed25519 signature of {timestamp}.{METHOD}.{path and query}.{body}."),
				schemeSession:   {Type: "apiKey", In: "cookie", Name: "__Host-session", Description: "A session from a sign-in; it has every scope. On plain http, in development, the cookie is called session."},
			},
			Headers: answerHeaders(),
		},
		Tags: []*huma.Tag{
			{Name: "account", Description: "Signing in, and the account."},
			{Name: "keys", Description: "API keys, which sign requests."},
			{Name: "bots", Description: "An account's bots."},
			{Name: "matches", Description: "Records of matches, for everyone."},
			{Name: "live", Description: "Running matches, for everyone."},
			{Name: "leaderboard", Description: "Rankings, for everyone."},
			{Name: "log", Description: "The signed log of results, and the arena's seed keys, for everyone."},
			{Name: "meta", Description: "The service itself."},
		},
		Webhooks: webhooks(),
	}
}

func answerHeaders() map[string]*huma.Header {
	text := func(about, example string) *huma.Header {
		return &huma.Header{Description: about, Schema: &huma.Schema{Type: huma.TypeString}, Example: example}
	}
	return map[string]*huma.Header{
		headerRequestID: text("The id of the request.", exampleID),
		headerPolicy:    text("The limits that apply to the call: q calls in w seconds.", `"all";q=600;w=60`),
		headerQuota:     text("The rest of the limits: r further calls, for t seconds.", `"all";r=599;t=60`),
		headerRetry:     {Description: "Seconds after which the same call may pass.", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: number(1)}, Example: 12},
	}
}

// webhooks are the calls that the arena makes to a bot's server.
func webhooks() map[string]*huma.PathItem {
	signed := func(name, about, example string) *huma.Param {
		return &huma.Param{Name: name, In: "header", Required: true, Description: about, Schema: &huma.Schema{Type: huma.TypeString}, Example: example}
	}
	return map[string]*huma.PathItem{
		"ping": {Get: &huma.Operation{
			OperationID: "ping", Summary: "The first part of the deploy check: GET {bot_url}/ping",
			Responses: map[string]*huma.Response{"200": {Description: "The bot is reachable.", Content: map[string]*huma.MediaType{
				"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}, Example: "pong"},
			}}},
		}},
		"match": {Get: &huma.Operation{
			OperationID: "match", Summary: "The upgrade to a match's WebSocket: GET {bot_url}",
			Description: "Each text frame from the arena is a DecisionRequest, each from the bot a DecisionResponse. The deploy check upgrades too, with `deploy-check` instead of the match's id.",
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

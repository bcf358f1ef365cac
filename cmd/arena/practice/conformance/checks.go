package conformance

import "hexarena/domain/game"

// The consequences of a failed check.
const (
	noRegistration = "the arena does not accept the bot"
	strike         = "each case costs a strike, and the third strike ends the match for the bot"
	outOfMemory    = "the program runs out of memory in the end, and then fails in the middle of a match"
	harmless       = ""
)

// checks lists all checks in the order of the report.
var checks = []struct{ id, title, breaks string }{
	{"ping", "answers GET /ping with pong", noRegistration},
	{"upgrade", "accepts the arena's signed WebSocket upgrade", noRegistration},
	{"connection", "keeps the connection open, and accepts the next one", strike},
	{"websocket", "follows the WebSocket protocol", strike},
	{"text", "answers in text frames with valid UTF-8", strike},
	{"json", "answers in valid JSON, without repeated keys", strike},
	{"id", "repeats the id of the request", strike},
	{"shape", "gives each field that the action needs, with its type", strike},
	{"size", "keeps answers within 65,536 bytes", strike},
	{"time", "answers in time", strike},
	{"once", "sends one answer for each request", strike},
	{"setup", "answers setup requests legally", strike},
	{"turn", "answers turn requests legally", strike},
	{"discard", "answers discard requests legally", strike},
	{"bandit", "answers bandit requests legally", strike},
	{"trade", "answers trade requests legally", strike},
	{"talk", "talks at most once a turn, with at most 240 characters", strike},
	{"matches", "keeps matches apart", strike},
	{"seats", "plays at tables of 4", strike},
	{"talklog", "reads long talk logs", strike},
	{"views", "reads unusual views", strike},
	{"order", "reads fields in any order, and any white space and escapes", strike},
	{"unknown", "ignores unknown fields", strike},
	{"clocks", "plays with the clocks of both modes, and with a time bank", strike},
	{"reconnect", "continues on a new connection in mid-match", strike},
	{"repeat", "answers a request that is repeated with the same id", strike},
	{"signature", "rejects connections that the arena did not sign", strike},
	{"memory", "needs no more memory after many matches", outOfMemory},
	{"nonce", "sends a good nonce", harmless},
	{"version", "names its version", harmless},
	{"speed", "answers quickly", harmless},
}

// formChecks maps the code of a fault to the check that asks for it. Other codes are
// reasons for illegal answers.
var formChecks = map[string]string{
	"binary": "text", "not_utf8": "text", "half_surrogate": "text",
	"syntax": "json", "too_deep": "json", "duplicate_key": "json",
	"missing": "shape", "wrong_type": "shape", "wrong_id": "id", "oversized": "size",
	"silent": "time", "late": "time", "stale": "time",
	"closed": "connection", "reset": "connection", "ended": "connection", "dropped": "connection", "unreachable": "connection",
	"no_http": "connection", "status": "connection", "no_upgrade": "connection", "slow_connect": "connection",
	"not_reading": "connection", "not_allowed": "connection", "certificate": "connection",
	"protocol": "websocket", "flood": "websocket",
	game.ReasonTalkTooLong: "talk", game.ReasonTalkTwice: "talk",
}

// checkFor returns the check that a failure in a plain match fails.
func checkFor(f *failure) string {
	if id, ok := formChecks[f.Code]; ok {
		return id
	}
	return f.Kind
}

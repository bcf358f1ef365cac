package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
)

type object = map[string]any

// The type forged is a record that a test changes.
type forged struct{ object }

func open(t testing.TB, record []byte) forged {
	t.Helper()
	var o object
	d := json.NewDecoder(bytes.NewReader(record))
	d.UseNumber()
	require.NoError(t, d.Decode(&o))
	return forged{o}
}

func (f forged) replay() []any       { return f.object["replay"].([]any) }
func (f forged) event(i int) object  { return f.replay()[i].(object) }
func (f forged) data(i int) object   { return f.event(i)["data"].(object) }
func (f forged) player(i int) object { return f.object["players"].([]any)[i].(object) }
func (f forged) proof() object       { return f.object["proof"].(object) }
func (f forged) nonces() []any       { return f.proof()["nonces"].([]any) }
func (f forged) is(i int, k string) bool {
	return i >= 0 && i < len(f.replay()) && f.event(i)["kind"] == k
}

// find returns the index of the first event of the given kind, or -1 if no event has it.
// If fits is not nil, find skips each event for whose data fits() returns false.
func (f forged) find(kind string, fits func(d object) bool) int {
	return slices.IndexFunc(f.replay(), func(e any) bool {
		return e.(object)["kind"] == kind && (fits == nil || fits(e.(object)["data"].(object)))
	})
}

// action returns the index of the first answer to the named kind of decision, or the
// first turn action of the named type.
func (f forged) action(name string) int {
	return f.find("action", func(d object) bool {
		return d["default"] == false && (d["kind"] == name || d["action"].(object)["type"] == name)
	})
}

// set replaces the replay and renumbers its events.
func (f forged) set(replay []any) {
	for i, e := range replay {
		e.(object)["seq"] = i + 1
	}
	f.object["replay"] = replay
}

func (f forged) drop(i int) { f.set(slices.Delete(slices.Clone(f.replay()), i, i+1)) }

func (f forged) double(i int) {
	again := object{}
	for k, v := range f.event(i) {
		again[k] = v
	}
	f.set(slices.Insert(slices.Clone(f.replay()), i+1, any(again)))
}

// otherHex returns the hex string v with a different first digit.
func otherHex(v any) string {
	s := v.(string)
	if s[0] == '0' {
		return "1" + s[1:]
	}
	return "0" + s[1:]
}

func number(v any) int {
	var n int
	_, _ = fmt.Sscan(fmt.Sprint(v), &n)
	return n
}

// forgery is one kind of tampering. Its function forge() changes a record and returns
// the seq at which the audit must find the change. The seq is 0 for the record itself,
// or -1 if the forgery does not apply.
type forgery struct {
	name   string
	forge  func(f forged) int
	check  string // the check that finds it
	inside bool   // whether the record is enough for the audit to find the forgery
}

// The function on() calls forge and returns the seq of the event at index i. If i is
// negative, it returns -1 without calling forge.
func on(i int, forge func()) int {
	if i < 0 {
		return -1
	}
	forge()
	return i + 1
}

// The function behind() is like on(), but for a forgery that the audit finds only n
// events later.
func behind(n, i int, forge func()) int {
	if i < 0 {
		return -1
	}
	return on(i, forge) + n
}

var forgeries = []forgery{
	// Randomness.
	{"the commitment", func(f forged) int { f.object["commitment"] = otherHex(f.object["commitment"]); return 0 }, audit.CheckCommitment, true},
	{"the server seed", func(f forged) int { f.proof()["serverSeed"] = otherHex(f.proof()["serverSeed"]); return 0 }, audit.CheckCommitment, true},
	{"the seed", func(f forged) int { f.object["seed"] = otherHex(f.object["seed"]); return 0 }, audit.CheckSeed, true},
	{"a nonce", func(f forged) int { f.nonces()[1] = "steered"; return 0 }, audit.CheckSeed, true},
	{"a nonce left out", func(f forged) int {
		i := slices.IndexFunc(f.nonces(), func(n any) bool { return n != "" })
		return behind(-i-1, i, func() { f.nonces()[i] = "" })
	}, audit.CheckSeed, true},
	{"a nonce too many", func(f forged) int { f.proof()["nonces"] = append(f.nonces(), ""); return 0 }, audit.CheckRecord, true},
	{"no proof", func(f forged) int { delete(f.object, "proof"); delete(f.object, "commitment"); return 0 }, audit.CheckCommitment, false},
	{"the id", func(f forged) int { f.object["id"] = otherHex(f.object["id"]); return 0 }, audit.CheckID, false},
	{"the revision", func(f forged) int { f.proof()["revision"] = number(f.proof()["revision"]) + 1; return 0 }, audit.CheckID, false},
	{"the index", func(f forged) int { f.proof()["index"] = number(f.proof()["index"]) + 1; return 0 }, audit.CheckID, false},
	{"the seed key", func(f forged) int { f.proof()["seedKey"] = "another"; return 0 }, audit.CheckSeedKey, false},
	{"a seat", func(f forged) int {
		a, b := f.player(0), f.player(1)
		a["botId"], b["botId"] = b["botId"], a["botId"]
		return 0
	}, audit.CheckSeats, true},
	{"the table's order", func(f forged) int {
		table := f.proof()["table"].([]any)
		table[0], table[1] = table[1], table[0]
		return 0
	}, audit.CheckSeats, true},
	// The board, dice, steals, deck.
	{"a token", func(f forged) int {
		hexes := f.data(0)["hexes"].([]any)
		i := slices.IndexFunc(hexes, func(h any) bool { return h.(object)["token"] != nil && number(h.(object)["token"]) != 6 })
		hexes[i].(object)["token"] = 6
		return 1
	}, audit.CheckBoard, true},
	{"a hex", func(f forged) int {
		hexes := f.data(0)["hexes"].([]any)
		i := slices.IndexFunc(hexes, func(h any) bool { return h.(object)["resource"] == "wool" })
		hexes[i].(object)["resource"] = "ore"
		return 1
	}, audit.CheckBoard, true},
	{"a port", func(f forged) int { f.data(0)["ports"].([]any)[1].(object)["resource"] = "ore"; return 1 }, audit.CheckBoard, true},
	{"the bandit's place", func(f forged) int { f.data(0)["bandit"] = (number(f.data(0)["bandit"]) + 1) % 19; return 1 }, audit.CheckBoard, true},
	{"a die", func(f forged) int {
		i := f.find("roll", func(d object) bool { return number(d["turn"]) == 7 })
		return on(i, func() { dice := f.data(i)["dice"].([]any); dice[0] = number(dice[0])%6 + 1 })
	}, audit.CheckDice, true},
	{"two dice swapped", func(f forged) int {
		i := f.find("roll", func(d object) bool { dice := d["dice"].([]any); return dice[0] != dice[1] })
		return on(i, func() { dice := f.data(i)["dice"].([]any); dice[0], dice[1] = dice[1], dice[0] })
	}, audit.CheckDice, true},
	{"a turn's number", func(f forged) int { i := f.find("roll", nil); return on(i, func() { f.data(i)["turn"] = 9 }) }, audit.CheckDice, true},
	{"who rolls", func(f forged) int { i := f.find("roll", nil); return on(i, func() { f.event(i)["seat"] = 2 }) }, audit.CheckDice, true},
	{"the victim of a robbery", func(f forged) int {
		i := f.find("steal", nil)
		return on(i, func() { f.data(i)["victim"] = (number(f.data(i)["victim"]) + 1) % 3 })
	}, audit.CheckSteals, true},
	{"a robbery dropped", func(f forged) int { i := f.find("steal", nil); return on(i, func() { f.drop(i) }) }, audit.CheckSteals, true},
	{"a card of the deck", func(f forged) int {
		i := f.action("play_knight")
		return on(i, func() { f.data(i)["action"] = object{"type": "play_windfall", "take": object{"ore": 2}} })
	}, audit.CheckAnswers, true},
	{"what an embargo took", func(f forged) int {
		i := f.action("play_embargo")
		return on(i, func() {
			c := f.data(i)["collected"].([]any)
			c[0] = number(c[0]) + 1
		})
	}, audit.CheckAnswers, true},
	// Answers and their consequences.
	{"an answer made illegal", func(f forged) int {
		i := f.action("build_road")
		return on(i, func() { f.data(i)["action"].(object)["edge"] = f.data(1)["action"].(object)["road"] })
	}, audit.CheckAnswers, true},
	{"an answer out of range", func(f forged) int {
		i := f.action("setup")
		return on(i, func() { f.data(i)["action"].(object)["settlement"] = 54 })
	}, audit.CheckAnswers, true},
	{"an answer that is not an object", func(f forged) int {
		i := f.action("end_turn")
		return on(i, func() { f.data(i)["action"] = []any{} })
	}, audit.CheckAnswers, true},
	{"a field that no schema has", func(f forged) int {
		i := f.action("end_turn")
		return on(i, func() { f.data(i)["action"].(object)["mood"] = "good" })
	}, audit.CheckAnswers, true},
	{"an answer of another seat", func(f forged) int {
		i := f.action("end_turn")
		return on(i, func() { f.event(i)["seat"] = (number(f.event(i)["seat"]) + 1) % 3 })
	}, audit.CheckAnswers, true},
	{"a decision's number", func(f forged) int {
		i := f.action("end_turn")
		return on(i, func() { f.data(i)["decision"] = number(f.data(i)["decision"]) + 1 })
	}, audit.CheckAnswers, true},
	{"an answer without its time", func(f forged) int {
		i := f.action("end_turn")
		return on(i, func() { f.data(i)["elapsedMs"] = nil })
	}, audit.CheckAnswers, true},
	{"a second talk in a turn", func(f forged) int {
		turns := f.replay()
		for i := range turns {
			if f.is(i, "action") && f.data(i)["kind"] == "turn" && f.data(i)["action"].(object)["talk"] != nil && f.data(i)["default"] == false &&
				f.data(i)["action"].(object)["type"] == "offer_trade" {
				for j := i + 1; j < len(turns) && !f.is(j, "roll"); j++ {
					if f.is(j, "action") && f.event(j)["seat"] == f.event(i)["seat"] && f.data(j)["action"].(object)["type"] == "end_turn" && f.data(j)["default"] == false {
						f.data(j)["action"].(object)["talk"] = "again"
						return j + 1
					}
				}
			}
		}
		return -1
	}, audit.CheckAnswers, true},
	{"an acceptance taken back", func(f forged) int {
		i := f.find("trade", nil)
		for j := i - 1; j > 0; j-- {
			if f.is(j, "action") && f.event(j)["seat"] == f.data(i)["to"] {
				f.data(j)["action"].(object)["accept"] = false
				return i + 1
			}
		}
		return -1
	}, "", true},
	{"what a trade gives", func(f forged) int {
		i := f.find("trade", nil)
		return on(i, func() { f.data(i)["give"] = object{"ore": 3} })
	}, audit.CheckTrades, true},
	{"a trade dropped", func(f forged) int { i := f.find("trade", nil); return on(i, func() { f.drop(i) }) }, audit.CheckTrades, true},
	// Strikes, defaults, refusals.
	{"a strike's number", func(f forged) int {
		i := f.find("timeout", nil)
		return on(i, func() { f.data(i)["strikes"] = number(f.data(i)["strikes"])%3 + 1 })
	}, audit.CheckStrikes, true},
	{"a strike dropped", func(f forged) int { i := f.find("timeout", nil); return on(i, func() { f.drop(i) }) }, audit.CheckDefaults, true},
	{"a strike doubled", func(f forged) int { i := f.find("illegal", nil); return behind(1, i, func() { f.double(i) }) }, audit.CheckDefaults, true},
	{"an unknown cause", func(f forged) int { i := f.find("timeout", nil); return on(i, func() { f.data(i)["cause"] = "mood" }) }, audit.CheckStrikes, true},
	{"a malformed answer hidden", func(f forged) int {
		i := f.find("timeout", func(d object) bool { return d["cause"] == "malformed" })
		return on(i, func() { delete(f.data(i), "answer") })
	}, audit.CheckStrikes, true},
	{"the reason of a refusal", func(f forged) int {
		i := f.find("illegal", func(d object) bool { return d["reason"] != "deck_empty" })
		return on(i, func() { f.data(i)["reason"] = "deck_empty" })
	}, audit.CheckRefusals, true},
	{"a legal answer refused", func(f forged) int {
		i := f.find("illegal", func(d object) bool { return d["kind"] == "turn" })
		return on(i, func() {
			f.data(i)["answer"] = fmt.Sprintf(`{"id":%v,"action":{"type":"end_turn"}}`, f.data(i)["decision"])
		})
	}, audit.CheckRefusals, true},
	{"a malformed answer refused", func(f forged) int {
		i := f.find("illegal", nil)
		return on(i, func() { f.data(i)["answer"] = "what?" })
	}, audit.CheckRefusals, true},
	{"a default replaced", func(f forged) int {
		i := f.find("action", func(d object) bool { return d["default"] == true && d["kind"] == "turn" })
		return on(i, func() { f.data(i)["action"] = object{"type": "buy_dev"} })
	}, audit.CheckDefaults, true},
	{"an answer called a default", func(f forged) int {
		i := f.action("end_turn")
		return on(i, func() { f.data(i)["default"], f.data(i)["elapsedMs"] = true, nil })
	}, audit.CheckDefaults, true},
	{"a resignation dropped", func(f forged) int { i := f.find("resign", nil); return on(i, func() { f.drop(i) }) }, audit.CheckStrikes, true},
	{"a resignation of a seat that plays", func(f forged) int {
		i := f.find("timeout", func(d object) bool { return number(d["strikes"]) == 1 })
		return behind(2, i, func() {
			e := object{"kind": "resign", "seat": f.event(i)["seat"], "at": f.event(i)["at"], "data": object{"strikes": 1}}
			f.set(slices.Insert(slices.Clone(f.replay()), i+2, any(e)))
		})
	}, "", true},
	// Awards and the end.
	{"an award's new holder", func(f forged) int {
		i := f.find("award", func(d object) bool { return d["to"] != nil })
		return on(i, func() {
			to := (number(f.data(i)["to"]) + 1) % 3
			f.data(i)["to"], f.event(i)["seat"] = to, to
		})
	}, audit.CheckAwards, true},
	{"an award dropped", func(f forged) int { i := f.find("award", nil); return on(i, func() { f.drop(i) }) }, audit.CheckAwards, true},
	{"the reason of the end", func(f forged) int {
		i := f.find("end", nil)
		return on(i, func() { f.data(i)["reason"] = "turn_cap" })
	}, audit.CheckEnd, true},
	{"a score", func(f forged) int {
		i := f.find("end", nil)
		return on(i, func() { s := f.data(i)["scores"].([]any); s[2] = number(s[2]) + 1 })
	}, audit.CheckEnd, true},
	{"the placements of the end", func(f forged) int {
		i := f.find("end", nil)
		return on(i, func() { slices.Reverse(f.data(i)["placements"].([]any)); f.data(i)["placements"].([]any)[0] = 3 })
	}, audit.CheckEnd, true},
	{"the end dropped", func(f forged) int { i := f.find("end", nil); return on(i, func() { f.drop(i) }) }, audit.CheckEnd, true},
	{"an event behind the end", func(f forged) int { i := f.find("end", nil); return behind(1, i, func() { f.double(i) }) }, audit.CheckEnd, true},
	{"an ended match called aborted", func(f forged) int { f.object["status"] = "aborted"; return len(f.replay()) }, audit.CheckEnd, true},
	// Forgeries of the order of events, and of the record's other fields.
	{"an event dropped", func(f forged) int { i := f.find("roll", nil); return on(i, func() { f.drop(i) }) }, audit.CheckDice, true},
	{"an event doubled", func(f forged) int { i := f.find("roll", nil); return behind(1, i, func() { f.double(i) }) }, audit.CheckAnswers, true},
	{"an event dropped, the others not renumbered", func(f forged) int {
		i := f.find("roll", nil)
		return on(i, func() { f.object["replay"] = slices.Delete(slices.Clone(f.replay()), i, i+1) })
	}, audit.CheckRecord, true},
	{"two events swapped", func(f forged) int {
		i := f.find("roll", nil)
		return on(i, func() {
			list := f.replay()
			list[i], list[i+1] = list[i+1], list[i]
			f.set(list)
		})
	}, audit.CheckDice, true},
	{"an event's time", func(f forged) int {
		i := f.find("roll", nil)
		return on(i, func() { f.event(i)["at"] = "2026-09-06T12:00:00.000Z" })
	}, audit.CheckRecord, true},
	{"an event with an extra field", func(f forged) int { i := f.find("roll", nil); return on(i, func() { f.data(i)["card"] = "ore" }) }, audit.CheckRecord, true},
	{"an unknown kind", func(f forged) int { i := f.find("roll", nil); return on(i, func() { f.event(i)["kind"] = "rain" }) }, audit.CheckRecord, true},
	{"a placement", func(f forged) int { f.player(0)["placement"] = number(f.player(0)["placement"])%4 + 1; return 0 }, audit.CheckPlacements, true},
	{"a rating change", func(f forged) int { f.player(0)["ratingDelta"] = 9.9; return 0 }, audit.CheckRating, false},
	{"a rating change left out", func(f forged) int { f.player(0)["ratingDelta"] = nil; return 0 }, audit.CheckRating, false},
	{"the thinking times", func(f forged) int { f.object["thinkingMs"].([]any)[0] = 1; return 0 }, audit.CheckThinking, true},
	{"when it started", func(f forged) int { f.object["startedAt"] = "2026-09-06T12:00:00.000Z"; return 0 }, audit.CheckRecord, true},
	{"when it ended", func(f forged) int { f.object["endedAt"] = "2026-09-06T12:00:00.000Z"; return 0 }, audit.CheckRecord, true},
	{"the mode", func(f forged) int { f.object["mode"] = "parley"; return 0 }, audit.CheckID, false},
}

// pool returns the records of a variety of matches, and the evidence of their
// arena.
func pool(t testing.TB) ([][]byte, audit.Evidence) {
	t.Helper()
	a := sample.New(sample.Options{Chance: 11, Bots: 16, Mischief: 3, Build: true})
	var records [][]byte
	var ids []string
	for range 8 {
		records = append(records, a.Tick()...)
	}
	for _, r := range records {
		ids = append(ids, idOf(t, r))
	}
	return records, audit.Evidence{
		PlatformKey: sample.PlatformKey, Ladder: ladderOf(t, a, ids...), Required: true,
		SeedKeys: map[string]audit.SeedKey{sample.SeedKeyID: {Hash: sample.SeedKeyHash(), Key: sample.SeedKey}},
	}
}

// apply forges the first record that allows the given forgery.
func apply(t testing.TB, f forgery, records [][]byte) (text []byte, seq int) {
	t.Helper()
	for _, record := range records {
		changed := open(t, record)
		if seq := f.forge(changed); seq >= 0 {
			text, err := json.Marshal(changed.object)
			require.NoError(t, err)
			return text, seq
		}
	}
	require.Fail(t, "the forgery is not possible in any of the records", f.name)
	return nil, 0
}

// For each kind of tampering, the audit reports the forged event.
func TestForgeriesAreFound(t *testing.T) {
	records, evidence := pool(t)
	require.Greater(t, len(forgeries), 25)
	for _, f := range forgeries {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			text, seq := apply(t, f, records)
			e := evidence
			if f.inside {
				e = audit.Evidence{}
			}
			report := verify(t, text, e)
			require.NotNil(t, report.Difference)
			t.Log(report.Difference)
			require.Equal(t, seq, report.Difference.Seq, report.Difference.Error())
			if f.check != "" {
				require.Equal(t, f.check, report.Difference.Check, report.Difference.Error())
			}
			require.NotEqual(t, report.Difference.Log, report.Difference.Follows)
		})
	}
}

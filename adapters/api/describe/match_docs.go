package describe

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
	"hexarena/projections/signedlog"
)

func matchDocs(m *exampleMatch) map[string]operationDocs {
	board := m.history.Board()
	stopped, unread := []error{projections.ErrStopped}, []error{projections.ErrStopped, eventstore.ErrUnavailable}
	return map[string]operationDocs{
		"list-matches": {
			about:  "Pages backwards: the newest 10,000 matches can be reached.",
			answer: rest.Matches{Matches: []rest.MatchSummary{m.summary(matches.Running)}}, refuses: stopped,
		},
		"get-match": {
			about:  "While the match runs, its seed is null and its replay empty; the commitment is there from the start. The record of an aborted match has seed, replay and proof too.",
			answer: m.record(), refuses: unread,
		},
		"get-frames": {
			about: "While the match runs, an event in a frame has only its seq, time, kind and seat.",
			answer: rest.Frames{
				MatchID: exampleID, Board: rest.BoardLayout{Hexes: board.Hexes, Ports: board.Ports},
				Frames: m.history.Frames(false, frames.Window{After: 1}),
			},
			refuses: unread,
		},
		"get-decisions": {
			about:  "A decision of a running match appears once it has closed.",
			answer: rest.Decisions{Decisions: m.log}, refuses: stopped,
		},
		"get-leaderboard": {
			about: "Every bot with at least one completed match.",
			answer: rest.Leaderboard{Mode: ladder.Standard, Rows: []rest.LeaderboardRow{
				{Rank: 1, BotID: exampleBot, Name: "Lovelace", Owner: "ada", Rating: 31.4, GamesPlayed: 212},
			}},
			refuses: stopped,
		},
		"get-bot-history": {about: "Every completed match of a bot, or every aborted one. Removed bots keep theirs.", answer: exampleHistory(), refuses: stopped},
	}
}

func liveDocs(m *exampleMatch) (map[string]operationDocs, error) {
	last, _ := m.history.Last(false)
	data, err := json.Marshal(last)
	if err != nil {
		return nil, err
	}
	end, err := json.Marshal(m.summary(matches.Completed))
	if err != nil {
		return nil, err
	}
	named := append(fmt.Appendf(nil, `{"matchId":%q,`, exampleID), data[1:]...)
	unavailable := []error{eventstore.ErrUnavailable}
	unread := []error{projections.ErrStopped, eventstore.ErrUnavailable}
	return map[string]operationDocs{
		"list-live": {
			answer:  rest.LiveMatches{Matches: []rest.LiveMatch{{Summary: m.summary(matches.Running), Turn: last.Turn, Scores: last.Scores}}},
			refuses: unavailable,
		},
		"get-live": {
			about:  "The same as in /matches/{id}/frames. Get the hexes and ports, which do not change, from /matches/{id}/frames?limit=1.",
			answer: last, refuses: unread,
		},
		"stream-live": {
			about: "Server-sent events. `event: frame` has a Frame with its `matchId` as data. The stream begins with the newest frame of each match. `event: end` has the MatchSummary of a match that has ended. Events have no ids: a reader that reconnects starts from scratch. A slow reader misses frames, never an end. Comments keep the connection alive.",
			text:  fmt.Sprintf("event: frame\ndata: %s\n\n:\n\nevent: end\ndata: %s\n\n", named, end), refuses: unavailable,
		},
		"stream-match": {
			about: "Server-sent events. `event: frame` has a Frame as data and its seq as id. The stream continues after `Last-Event-ID`. It begins with the newest frame if that header names no frame of the match. A slow reader misses frames, never the newest. The stream ends with `event: end`, whose data is the MatchSummary. For a match that has ended it holds the last frame and the end. Comments keep the connection alive. An address may have 20 open streams.",
			text:  fmt.Sprintf("event: frame\nid: %d\ndata: %s\n\n:\n\nevent: end\ndata: %s\n\n", last.Seq, data, end), refuses: unread,
		},
	}, nil
}

func logDocs() (map[string]operationDocs, error) {
	sum := func(text string) []byte { h := sha256.Sum256([]byte(text)); return h[:] }
	secret := hex.EncodeToString(sum("another"))
	head, err := signedlog.Sign(
		signedlog.Head{Origin: signedlog.Origin("arena.example", ladder.Standard), Size: 2, Root: sum("root")},
		ed25519.NewKeyFromSeed(sum("example")),
	)
	unread := []error{eventstore.ErrUnavailable, projections.ErrStopped}
	return map[string]operationDocs{
		"get-log-head": {
			about: "A checkpoint (C2SP tlog-checkpoint): origin, size, root hash, and the signature by the platform key. Every later head must be consistent with one that you have kept.",
			text:  string(head), refuses: unread,
		},
		"get-log-inclusion": {
			about:  "The leaf is the canonical JSON (RFC 8785) of the match's record: the fields of Match, commitment and proof.",
			answer: rest.Inclusion{Index: 1, Size: 2, Hashes: [][]byte{sum("leaf")}}, refuses: unread,
		},
		"get-log-consistency": {
			about:  "The tree of the later size begins with the leaves of the earlier one.",
			answer: rest.Consistency{From: 1, To: 2, Hashes: [][]byte{sum("leaf")}}, refuses: unread,
		},
		"get-seed-keys": {
			about: "A server seed is the HMAC-SHA256 of its match's id under one of these.",
			answer: rest.SeedKeys{Keys: []rest.SeedKey{
				{ID: exampleKey, Hash: hex.EncodeToString(sum(secret)), Key: &secret},
				{ID: exampleBot, Hash: hex.EncodeToString(sum("key"))},
			}},
			refuses: []error{eventstore.ErrUnavailable},
		},
	}, err
}

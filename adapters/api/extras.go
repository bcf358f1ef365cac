package api

import (
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/frames"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
)

// extra is what the document says of an operation beyond its types.
type extra struct {
	about   string  // more than the summary
	refuses []error // beside what every endpoint like it refuses
	sample  any     // *In: of the request's body
	example any     // *Out: of the answer's
	text    string  // an example of an answer that is text
}

// extras are those of each operation, by id.
func extras() (map[string]extra, error) {
	m, err := newExampleMatch()
	if err != nil {
		return nil, err
	}
	liveOnes, err := liveExtras(&m)
	if err != nil {
		return nil, err
	}
	results, err := logExtras()
	if err != nil {
		return nil, err
	}
	all := map[string]extra{}
	for _, part := range []map[string]extra{accountExtras(), keyExtras(), botExtras(), matchExtras(&m), liveOnes, results, metaExtras()} {
		for id, x := range part {
			all[id] = x
		}
	}
	return all, nil
}

func accountExtras() map[string]extra {
	account := &accountOutput{exampleAccountBody()}
	name := "ada"
	patch, signIn, confirm := new(accountPatch), new(signInInput), new(confirmInput)
	patch.Body.Name, signIn.Body.Email, confirm.Body.Token = &name, "ada@example.org", "VGhlIHRva2VuIG9mIHRoZSBsaW5r"
	return map[string]extra{
		"get-me": {example: account},
		"patch-me": {
			about:  "3 to 20 of a–z, 0–9, - and _. A handle that is given up stays reserved for 30 days.",
			sample: patch, example: account, refuses: []error{owner.ErrHandleTaken},
		},
		"delete-me": {about: "Bots are removed, keys revoked, sessions ended and the address deleted; matches and ratings stay, without an owner.", refuses: []error{owner.ErrOwnerSuspended, aConflict}},
		"send-sign-in-link": {
			about:  "Answers the same whether or not the address has an account. At most 5 mails an hour go to one address.",
			sample: signIn, refuses: []error{eventstore.ErrUnavailable, aConflict},
		},
		"confirm-sign-in": {
			about:  "The answer sets the session's cookie. An address without an account gets one.",
			sample: confirm, example: account, refuses: []error{owner.ErrLinkInvalid, eventstore.ErrUnavailable, aConflict},
		},
		"sign-out": {refuses: []error{aConflict}},
	}
}

func keyExtras() map[string]extra {
	list := new(keysOutput)
	list.Body.Keys = []keyBody{exampleKeyBody()}
	input := new(keyInput)
	input.Body.Name, input.Body.PublicKey, input.Body.Scopes = "laptop", exampleKeyBody().PublicKey, []string{"bots.read", "bots.write"}
	return map[string]extra{
		"list-keys": {example: list},
		"register-key": {
			about:  "Takes an OpenSSH public-key line, a PEM block, or the base64 of the 32 bytes. Without scopes the key gets bots.read and bots.write; they stay as they are. At most 20 keys that are not revoked.",
			sample: input, example: &keyOutput{exampleKeyBody()},
			refuses: []error{owner.ErrKeyLimit, owner.ErrKeyExists, owner.ErrScopeMissing},
		},
		"revoke-key": {about: "Nothing that the key signs is accepted after the answer. Revoking again answers the same."},
	}
}

func botExtras() map[string]extra {
	list := new(botsOutput)
	list.Body.Bots = []botBody{exampleBotBody()}
	input, patch, check := new(botInput), new(botPatch), new(checkOutput)
	input.Body.Name, input.Body.Mode, input.Body.URL = "Lovelace", ladder.Standard, exampleBotBody().URL
	status := string(owner.Paused)
	patch.Body.Status = &status
	check.Body.OK, check.Body.Steps = true, exampleSteps()
	paused := exampleBotBody()
	paused.Status = status
	return map[string]extra{
		"register-bot": {
			about:  "The bot is active at once and seated on a coming tick. At most 5 active bots in each mode.",
			sample: input, example: &botOutput{exampleBotBody()}, refuses: []error{aDeniedURL, owner.ErrBotLimit, aFailedCheck},
		},
		"list-bots": {example: list},
		"get-bot":   {example: &botOutput{exampleBotBody()}},
		"change-bot": {
			about:  "A new URL must pass the deploy check first; a match that is on goes on.",
			sample: patch, example: &botOutput{paused}, refuses: []error{aDeniedURL, owner.ErrBotLimit, owner.ErrBotSuspended, aFailedCheck},
		},
		"check-bot": {about: "Stops at the first step that fails, and says what to mend.", example: check},
	}
}

func matchExtras(m *exampleMatch) map[string]extra {
	list, record, shown, log := new(matchesOutput), &matchOutput{Body: m.record()}, new(framesOutput), new(decisionsOutput)
	list.Body.Matches = []matches.Summary{m.summary(matches.Running)}
	board := m.history.Board()
	shown.Body.MatchID, shown.Body.Board = exampleID, framesBoard{board.Hexes, board.Ports}
	shown.Body.Frames = m.history.Frames(false, frames.Window{After: 1})
	log.Body.Decisions = m.log
	stopped, unread := []error{projections.ErrStopped}, []error{projections.ErrStopped, eventstore.ErrUnavailable}
	rows := new(leaderboardOutput)
	rows.Body.Mode = ladder.Standard
	rows.Body.Rows = []leaderboard.Row{{Rank: 1, BotID: exampleBot, Name: "Lovelace", Owner: "ada", Rating: 31.4, GamesPlayed: 212}}
	return map[string]extra{
		"list-matches": {about: "Pages backwards: the newest 10,000 matches can be reached.", example: list, refuses: stopped},
		"get-match": {
			about:   "While the match runs, its seed is null and its replay empty; the commitment is there from the start. Seed, replay and proof of an aborted match are shown too.",
			example: record, refuses: unread,
		},
		"get-frames": {
			about:   "While the match runs, an event in a frame is only its seq, time, kind and seat.",
			example: shown, refuses: unread,
		},
		"get-decisions": {
			about:   "Decisions of a match that runs are there once they have closed.",
			example: log, refuses: stopped,
		},
		"get-leaderboard": {about: "Every bot with at least one completed match.", example: rows, refuses: stopped},
		"get-bot-history": {about: "Every completed match of a bot, or every aborted one; bots that have been removed keep theirs.", example: exampleHistory(), refuses: stopped},
	}
}

func metaExtras() map[string]extra {
	health, arena := new(healthOutput), new(arenaOutput)
	health.Body.Status, arena.Body.PublicKey = "ok", exampleKeyBody().PublicKey
	return map[string]extra{"get-health": {example: health}, "get-arena": {example: arena}}
}

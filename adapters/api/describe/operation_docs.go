package describe

import (
	"maps"

	"hexarena/adapters/api/problem"
	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// operationDocs is what the document states of an operation beyond its types.
type operationDocs struct {
	about   string  // follows the summary
	refuses []error // in addition to those of every endpoint like it
	request any     // an example of the request's body
	answer  any     // an example of the answer
	text    string  // an example of an answer that is text
}

// allOperationDocs returns the docs of each operation, by id.
func allOperationDocs() (map[string]operationDocs, error) {
	m, err := newExampleMatch()
	if err != nil {
		return nil, err
	}
	liveDocs, err := liveDocs(&m)
	if err != nil {
		return nil, err
	}
	logDocs, err := logDocs()
	if err != nil {
		return nil, err
	}
	all := map[string]operationDocs{
		"get-health": {answer: rest.Health{Status: "ok"}},
		"get-arena":  {answer: rest.Arena{PublicKey: exampleKeyBody().PublicKey}},
	}
	for _, part := range []map[string]operationDocs{accountDocs(), keyDocs(), botDocs(), matchDocs(&m), liveDocs, logDocs} {
		maps.Copy(all, part)
	}
	return all, nil
}

func accountDocs() map[string]operationDocs {
	name := "ada"
	return map[string]operationDocs{
		"get-me": {answer: exampleAccount()},
		"patch-me": {
			about:   "3 to 20 of a–z, 0–9, - and _. A handle that is given up stays reserved for 30 days.",
			request: rest.AccountPatch{Name: &name}, answer: exampleAccount(), refuses: []error{owner.ErrHandleTaken},
		},
		"delete-me": {
			about:   "Removes the bots, revokes the keys, ends the sessions and deletes the address. Matches and ratings stay, without an owner.",
			refuses: []error{owner.ErrOwnerSuspended, problem.ExampleConflict},
		},
		"send-sign-in-link": {
			about:   "Answers the same whether or not the address has an account. At most 5 mails an hour go to one address.",
			request: rest.SignIn{Email: "ada@example.org"}, refuses: []error{eventstore.ErrUnavailable, problem.ExampleConflict},
		},
		"confirm-sign-in": {
			about:   "The answer sets the session's cookie. An address without an account gets one.",
			request: rest.SignInConfirmation{Token: "VGhlIHRva2VuIG9mIHRoZSBsaW5r"}, answer: exampleAccount(),
			refuses: []error{owner.ErrLinkInvalid, eventstore.ErrUnavailable, problem.ExampleConflict},
		},
		"sign-out": {refuses: []error{problem.ExampleConflict}},
	}
}

func keyDocs() map[string]operationDocs {
	return map[string]operationDocs{
		"list-keys": {answer: rest.Keys{Keys: []rest.Key{exampleKeyBody()}}},
		"register-key": {
			about:   "Takes an OpenSSH public-key line, a PEM block, or the base64 of the 32 bytes. Without scopes the key gets bots.read and bots.write; its scopes never change. An account has at most 20 keys that are not revoked.",
			request: rest.NewKey{Name: "laptop", PublicKey: exampleKeyBody().PublicKey, Scopes: []string{"bots.read", "bots.write"}},
			answer:  exampleKeyBody(), refuses: []error{owner.ErrKeyLimit, owner.ErrKeyExists, owner.ErrScopeMissing},
		},
		"revoke-key": {about: "After the answer the arena accepts no call that the key signs. Revoking a key again answers the same."},
	}
}

func botDocs() map[string]operationDocs {
	bot := exampleBotBody()
	paused, status := bot, string(owner.Paused)
	paused.Status = status
	return map[string]operationDocs{
		"register-bot": {
			about:   "The bot is active at once and gets a table within a few ticks. An account has at most 5 active bots in each mode.",
			request: rest.NewBot{Name: bot.Name, Mode: ladder.Standard, URL: bot.URL}, answer: bot,
			refuses: []error{problem.ExampleDeniedURL, owner.ErrBotLimit, problem.ExampleFailedCheck},
		},
		"list-bots": {answer: rest.Bots{Bots: []rest.Bot{bot}}},
		"get-bot":   {answer: bot},
		"change-bot": {
			about:   "A new URL must pass the deploy check first. A running match continues.",
			request: rest.BotPatch{Status: &status}, answer: paused,
			refuses: []error{problem.ExampleDeniedURL, owner.ErrBotLimit, owner.ErrBotSuspended, problem.ExampleFailedCheck},
		},
		"check-bot": {about: "Stops at the first step that fails, and reports what to fix.", answer: rest.Check{OK: true, Steps: exampleSteps()}},
	}
}

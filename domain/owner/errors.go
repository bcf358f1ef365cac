package owner

import (
	"errors"
	"strings"
)

// The errors that callers handle. A decision that fails changes nothing.
var (
	// ErrUnauthenticated means that the credential is missing, wrong or no longer
	// valid. The error does not say which, so that nobody can use it to probe
	// credentials.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrLinkInvalid means that a sign-in link is unknown, used or too old. The error
	// does not say which.
	ErrLinkInvalid = errors.New("the sign-in link is unknown, used or older than 15 minutes: ask for a new link")

	// ErrOwnerGone means that the account was deleted. Its owner may make a new one.
	ErrOwnerGone = errors.New("the account is deleted")
	// ErrOwnerSuspended means that the account may only read until an operator
	// restores it. ErrBotSuspended means that the bot stays paused until an
	// operator restores it.
	ErrOwnerSuspended = errors.New("the account is suspended: it may only read until an operator restores it")
	ErrBotSuspended   = errors.New("the bot is suspended: it stays paused until an operator restores it")
	// ErrNoReason means that an operator's order contains no reason.
	ErrNoReason = errors.New("an order needs a reason")
	// ErrNoticeLimit means that the owner has already received the maximum number of
	// notices per hour. The next notice must wait.
	ErrNoticeLimit = errors.New("too many notices to this owner within an hour")

	ErrHandleTaken = errors.New("the handle is taken: choose another one")
	ErrKeyLimit    = errors.New("an account has at most 20 API keys that are not revoked: revoke one first")
	ErrKeyExists   = errors.New("the account already has this public key: use it, or revoke it first")
	// ErrProofNeeded means that another account uses the public key. ErrKeyContested
	// means that another account claimed the public key after this account did.
	ErrProofNeeded  = errors.New(`another account uses this key; to move the key to your account, run "arena keys add NAME --key FILE", which proves that you have the private key`)
	ErrKeyContested = errors.New("another account is registering this public key at the same time: try again")
	ErrKeyUnknown   = errors.New("no such API key")
	ErrScopeMissing = errors.New("a key cannot grant a scope that it does not have: leave out this scope, or sign in to register the key")
	ErrBotLimit     = errors.New("an account has at most 5 active bots in one mode: pause or remove one first")
	ErrBotUnknown   = errors.New("no such bot")
)

// Codes of an InvalidError.
const (
	CodeInvalid       = "invalid"
	CodeURLNotAllowed = "url_not_allowed"
)

// Fault describes the error in one field of a command.
type Fault struct {
	Field   string // the field's name on the wire
	Message string // a sentence for the owner, which does not repeat the value
}

// InvalidError lists the invalid fields of a command.
type InvalidError struct {
	Code   string
	Faults []Fault
}

func (e *InvalidError) Error() string {
	faults := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		faults[i] = f.Field + " " + f.Message
	}
	return e.Code + ": " + strings.Join(faults, "; ")
}

// Invalid returns an InvalidError for one field, with CodeInvalid.
func Invalid(field, message string) error {
	return &InvalidError{Code: CodeInvalid, Faults: []Fault{{field, message}}}
}

// Together joins the InvalidErrors in errs into one error with every fault. If
// their codes differ, its code is CodeInvalid. If errs holds an error of a
// different type, Together returns that error.
func Together(errs ...error) error {
	var all *InvalidError
	for _, err := range errs {
		var invalid *InvalidError
		switch {
		case err == nil:
			continue
		case !errors.As(err, &invalid):
			return err
		case all == nil:
			all = &InvalidError{Code: invalid.Code}
		case all.Code != invalid.Code:
			all.Code = CodeInvalid
		}
		all.Faults = append(all.Faults, invalid.Faults...)
	}
	if all == nil {
		return nil
	}
	return all
}

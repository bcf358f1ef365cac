package owner

import (
	"errors"
	"strings"
)

// The refusals that callers tell apart. Each leaves everything as it was.
var (
	// ErrUnauthenticated says that a caller has not shown who it is: no
	// credential, a wrong one, or one that no longer holds. It never says which.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrLinkInvalid says that a sign-in link is unknown, used or too old. It
	// never says which.
	ErrLinkInvalid = errors.New("the sign-in link is unknown, used or older than 15 minutes")
	// ErrLinkLimit says that an address had as many links within the hour as
	// it may have.
	ErrLinkLimit = errors.New("too many sign-in links for this address within an hour")

	// ErrOwnerGone says that an account was deleted; a new one may be made.
	ErrOwnerGone = errors.New("the account is deleted")
	// ErrOwnerSuspended says that an account may read alone, ErrBotSuspended that
	// a bot stays paused, until an operator restores it.
	ErrOwnerSuspended = errors.New("the account is suspended: it may read, and write nothing")
	ErrBotSuspended   = errors.New("the bot is suspended: it stays paused until it is restored")
	// ErrNoReason refuses an operator's order that does not say why.
	ErrNoReason = errors.New("an order needs a reason")
	// ErrNoticeLimit says that an owner had as many notices within the hour as
	// it may have: the next one waits.
	ErrNoticeLimit = errors.New("too many notices to this owner within an hour")

	ErrHandleTaken  = errors.New("the handle is taken")
	ErrKeyLimit     = errors.New("an account has at most 20 API keys that are not revoked")
	ErrKeyExists    = errors.New("the account has this public key already")
	ErrKeyUnknown   = errors.New("no such API key")
	ErrScopeMissing = errors.New("a key cannot give a scope that it does not have")
	ErrBotLimit     = errors.New("an account has at most 5 active bots in one mode")
	ErrBotUnknown   = errors.New("no such bot")
)

// Codes of an InvalidError.
const (
	CodeInvalid       = "invalid"
	CodeURLNotAllowed = "url_not_allowed"
)

// Fault says what is wrong with one field of a command.
type Fault struct {
	Field   string // as the field is named on the wire
	Message string // a sentence for the owner, without the value
}

// InvalidError says which fields of a command are wrong.
type InvalidError struct {
	Code   string
	Faults []Fault
}

func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString(e.Code)
	for i, f := range e.Faults {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		b.WriteString(f.Field + " " + f.Message)
	}
	return b.String()
}

// Invalid makes an InvalidError of one field, with CodeInvalid.
func Invalid(field, message string) error {
	return &InvalidError{Code: CodeInvalid, Faults: []Fault{{field, message}}}
}

// Together joins the InvalidErrors among errs into one that names every fault;
// where their codes differ it has CodeInvalid. Another error wins over them.
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

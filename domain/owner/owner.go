// Package owner holds what one account may do and has done: its handle, its
// API keys, its sessions, its bots and their limits; and the names that an
// account claims, its e-mail address and its handle.
//
// Five kinds of streams belong to it. Account folds owner-<ownerId>, Mailbox
// folds email-<hmac of the address>, Name folds handle-<handle>;
// address-<ownerId> holds AddressSet, the only event with an address in it, and
// signatures-<ownerId> the SignatureSpent of the last minutes.
// Decisions are methods that return events or say why not; they take the time
// and new ids from their caller.
//
// It knows no HTTP, no signature, no mail and no log.
package owner

import "strings"

// The prefixes of the streams that this package owns.
const (
	AccountPrefix    = "owner-"
	AddressPrefix    = "address-"
	MailboxPrefix    = "email-"
	HandlePrefix     = "handle-"
	SignaturesPrefix = "signatures-"
)

// AccountStream names the stream of an account.
func AccountStream(ownerID string) string { return AccountPrefix + ownerID }

// AddressStream names the stream that holds an account's address; it is kept
// to one event.
func AddressStream(ownerID string) string { return AddressPrefix + ownerID }

// MailboxStream names the stream of an address, by the keyed hash of it.
func MailboxStream(addressHash string) string { return MailboxPrefix + addressHash }

// HandleStream names the stream of a handle.
func HandleStream(handle string) string { return HandlePrefix + handle }

// SignaturesStream names the stream of the signatures that an account's writes
// have spent; its events expire.
func SignaturesStream(ownerID string) string { return SignaturesPrefix + ownerID }

// ParseAccountStream returns the owner whose account a stream is.
func ParseAccountStream(stream string) (ownerID string, ok bool) {
	return strings.CutPrefix(stream, AccountPrefix)
}

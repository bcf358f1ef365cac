// Package owner implements the state and the rules of one account: its handle,
// its API keys, its sessions, its bots and their limits. It also implements the
// names that an account claims: its email address, its handle and its public
// keys.
//
// Six kinds of streams belong to this package:
//
//   - owner-<ownerId>, which Account folds
//   - email-<hmac of the address>, which Mailbox folds
//   - handle-<handle>, which Name folds
//   - key-<hex of the public key>, which PublicKey folds
//   - address-<ownerId>, which holds AddressSet, the only event that contains an address
//   - signatures-<ownerId>, which holds the SignatureSpent events of the last few minutes
//
// Decisions are methods that return events, or an error that says why the decision
// was refused. Callers pass in the time and new ids.
//
// The package knows nothing about HTTP, signatures, email or the log.
package owner

import (
	"encoding/hex"
	"strings"
)

// The prefixes of the streams that this package owns.
const (
	AccountPrefix    = "owner-"
	AddressPrefix    = "address-"
	MailboxPrefix    = "email-"
	HandlePrefix     = "handle-"
	PublicKeyPrefix  = "key-"
	SignaturesPrefix = "signatures-"
)

// AccountStream names the stream of an account.
func AccountStream(ownerID string) string { return AccountPrefix + ownerID }

// AddressStream names the stream that holds an account's address. The stream keeps
// only its last event.
func AddressStream(ownerID string) string { return AddressPrefix + ownerID }

// MailboxStream names the stream of the address that has the given keyed hash.
func MailboxStream(addressHash string) string { return MailboxPrefix + addressHash }

// HandleStream names the stream of a handle.
func HandleStream(handle string) string { return HandlePrefix + handle }

// PublicKeyStream names the stream of a public key.
func PublicKeyStream(public []byte) string { return PublicKeyPrefix + hex.EncodeToString(public) }

// SignaturesStream names the stream that records the signatures of an account's
// writes. Its events expire.
func SignaturesStream(ownerID string) string { return SignaturesPrefix + ownerID }

// ParseAccountStream returns the owner of an account's stream. ok is false for
// other streams.
func ParseAccountStream(stream string) (ownerID string, ok bool) {
	return strings.CutPrefix(stream, AccountPrefix)
}

// Package auth authenticates callers. It checks Ed25519 signatures over
// requests as received, and sessions that start with an emailed sign-in link.
//
// Verify checks signatures and session cookies. SendLink, Confirm and SignOut
// start and end sessions. RegisterKey registers a key, and moves it from another
// account. Delete deletes an account, and FinishDeletions finishes deletions that
// a crash interrupted. ParsePublicKey reads every accepted key format.
//
// A signed write runs only once, because Verify stores its signature before it
// returns. All state is stored as events of domain/owner. The package knows
// nothing about routes and status codes. It reports a failed authentication as
// owner.ErrUnauthenticated, and an unusable link as owner.ErrLinkInvalid. Any
// other error is a fault of the service.
package auth

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/directory"
)

// Directory finds API keys.
type Directory interface {
	// Key returns a key, even if it is revoked.
	Key(id string) (directory.Key, bool)
	// Registrations returns the keys with a public key that are not revoked,
	// including all that are in the log at the time of the call. It may return
	// keys of deleted accounts.
	Registrations(ctx context.Context, public []byte) ([]directory.Key, error)
}

// Accounts reads and changes owners' accounts. A returned account includes
// every earlier change by this process.
type Accounts interface {
	Load(ctx context.Context, ownerID string) (owner.Account, error)
	// Reload reads the current state of the account from the log.
	Reload(ctx context.Context, ownerID string) (owner.Account, error)
	// Change loads an account, calls decide, and appends the returned events at
	// the loaded revision. It may call decide more than once.
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
}

// Mailer sends sign-in links by email. It does not wait for a mail server.
type Mailer interface {
	SendSignInLink(ctx context.Context, to, link string, until time.Time) error
}

// Options configure a Service. All fields except Secure are required.
type Options struct {
	Log       eventstore.Log
	Accounts  Accounts
	Directory Directory
	Mailer    Mailer
	EmailKey  []byte // 32 bytes; used to hash addresses, to encrypt the tokens of links, and to recognize browsers
	BaseURL   string // prefix of links, and the arena that proofs of keys name; the Host header of a request is ignored
	Secure    bool   // restrict cookies to https; true in production
	Logger    *slog.Logger
}

// Service authenticates callers. It is safe for concurrent use.
type Service struct {
	options  Options
	base     *url.URL // parsed from BaseURL
	spent    *ledger
	vault    vault
	links    *linkLimits
	stranger ed25519.PublicKey // verifies the signatures under unknown key ids; nobody has its private half
}

var (
	mailboxes = eventstore.Kind[owner.Mailbox, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolveMailbox}
	names     = eventstore.Kind[owner.Name, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolveName}
	publics   = eventstore.Kind[owner.PublicKey, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolvePublicKey}
)

// New returns a Service. It returns an error if the email key is not 32 bytes
// long, or if the base URL is not a URL.
func New(o Options) (*Service, error) {
	if len(o.EmailKey) != 32 {
		return nil, fmt.Errorf("the email key has %d bytes; it must have 32", len(o.EmailKey))
	}
	v, err := newVault(o.EmailKey)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the base URL: %w", err)
	}
	stranger, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return &Service{options: o, base: base, spent: newLedger(o.Log), vault: v, links: newLinkLimits(), stranger: stranger}, nil
}

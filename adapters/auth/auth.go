// Package auth authenticates callers. A caller either signs each request with an
// Ed25519 key, or has a session that began with an emailed sign-in link.
//
// Verify checks signatures and session cookies. SendLink, Confirm and SignOut start and
// end sessions. RegisterKey registers a key, and can move it from another account.
// Delete deletes an account, and FinishDeletions finishes deletions that a crash
// interrupted. ParsePublicKey reads every accepted key format.
//
// A signed write runs only once, because Verify stores its signature before it returns.
// All state is stored as events of domain/owner. The package knows nothing about routes
// or status codes. If authentication fails, the error is owner.ErrUnauthenticated. If a
// link cannot be used, the error is owner.ErrLinkInvalid.
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
	// Key returns a key, even if it is revoked. If the error is not nil, a key that Key
	// does not find may exist.
	Key(id string) (k directory.Key, found bool, err error)
	// Registrations returns the active registrations of a public key. The result
	// includes every registration that is in the log when the call starts, and may
	// include those of deleted accounts.
	Registrations(ctx context.Context, public []byte) ([]directory.Key, error)
}

// Accounts reads and changes owners' accounts. A returned account includes all earlier
// changes that this process made.
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
	EmailKey  []byte // 32 bytes; the root of the keys that hash addresses, encrypt link tokens, and recognize browsers
	BaseURL   string // prefix of links, and the arena's name in key proofs; a request's Host header is ignored
	Secure    bool   // whether cookies are restricted to https; true in production
	Logger    *slog.Logger
}

// Service authenticates callers. It is safe for concurrent use.
type Service struct {
	options  Options
	base     *url.URL // parsed from BaseURL
	spent    *ledger
	vault    vault
	links    *linkLimits
	stranger ed25519.PublicKey // used to verify signatures under unknown key ids; nobody has its private key
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

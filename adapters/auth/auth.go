// Package auth shows who calls: by Ed25519 signatures over requests as they
// were received, and by sessions that a link sent to an e-mail address begins.
//
// Verify (signatures, cookies), SendLink, Confirm, SignOut and Delete are its
// calls; Mend finishes what a crash left of a Delete; ParsePublicKey reads the
// formats of keys. A signed write runs once: Verify stores its signature before
// it answers. What it decides on, and what it
// leaves behind, are events of domain/owner. It knows no routes and no status
// codes: a caller that is not who it says gets owner.ErrUnauthenticated, a link
// that is of no use owner.ErrLinkInvalid, and any other error is a fault.
package auth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Directory finds the account of an API key, revoked ones included.
type Directory interface {
	OwnerOfKey(keyID string) (ownerID string, ok bool)
}

// Accounts are the owners' accounts as the log holds them, and never older than
// a change that this process has made.
type Accounts interface {
	Load(ctx context.Context, ownerID string) (owner.Account, error)
	// Change decides on an account and stores what was decided at the exact
	// revision; decide may be called more than once.
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
}

// Mailer sends sign-in links. It returns without waiting for a mail server.
type Mailer interface {
	SendSignInLink(ctx context.Context, to, link string, until time.Time) error
}

// Options plug a Service together; all fields but Logger are needed.
type Options struct {
	Log       eventstore.Log
	Accounts  Accounts
	Directory Directory
	Mailer    Mailer
	EmailKey  []byte // 32 bytes: addresses are hashed and links sealed under it
	BaseURL   string // links begin with it, whatever a request calls its host
	Secure    bool   // cookies for https alone: production
	Logger    *slog.Logger
}

// Service shows who calls. It is safe for concurrent use.
type Service struct {
	log       eventstore.Log
	accounts  Accounts
	spent     *ledger
	directory Directory
	mailer    Mailer
	vault     vault
	baseURL   string
	secure    bool
	logger    *slog.Logger
}

var (
	mailboxes = eventstore.Kind[owner.Mailbox, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolveMailbox}
	names     = eventstore.Kind[owner.Name, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolveName}
)

// New returns a Service, or what is wrong with its options.
func New(o Options) (*Service, error) {
	if len(o.EmailKey) != 32 {
		return nil, errors.New("the e-mail key must have 32 bytes")
	}
	v, err := newVault(o.EmailKey)
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{
		log: o.Log, accounts: o.Accounts, spent: newLedger(o.Log), directory: o.Directory, mailer: o.Mailer, vault: v,
		baseURL: o.BaseURL, secure: o.Secure, logger: o.Logger,
	}, nil
}

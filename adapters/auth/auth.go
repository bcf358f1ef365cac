// Package auth shows who calls: by Ed25519 signatures over requests as they
// were received, and by sessions that a link sent to an e-mail address begins.
//
// Verify (signatures, cookies), SendLink, Confirm and SignOut are its calls;
// ParsePublicKey reads the formats of keys. What it decides on, and what it
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

// Mailer sends sign-in links.
type Mailer interface {
	SendSignInLink(ctx context.Context, to, link string, until time.Time) error
}

// Options plug a Service together; all fields but Logger are needed.
type Options struct {
	Log       eventstore.Log
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
	directory Directory
	mailer    Mailer
	vault     vault
	baseURL   string
	secure    bool
	logger    *slog.Logger
}

var (
	accounts  = eventstore.Kind[owner.Account, owner.Event]{Decode: owner.Decode, Evolve: owner.Evolve}
	mailboxes = eventstore.Kind[owner.Mailbox, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolveMailbox}
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
		log: o.Log, directory: o.Directory, mailer: o.Mailer, vault: v,
		baseURL: o.BaseURL, secure: o.Secure, logger: o.Logger,
	}, nil
}

func (s *Service) account(ctx context.Context, ownerID string) (owner.Account, error) {
	a, _, err := accounts.Load(ctx, s.log, eventstore.StreamID(owner.AccountStream(ownerID)), owner.Account{})
	return a, err
}

package auth

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// registerTimeout is the time limit for all writes of one registration.
const registerTimeout = 20 * time.Second

// RegisterKey registers a key for the caller's account. It returns the key and the
// position of the append. If the public key is active in another account, the caller
// must prove that it has the private key. In that case, RegisterKey first revokes the
// other registration, so that the key never works in both accounts. proof is either
// empty or the base64 encoding of the signature of rest.KeyChallenge.
//
// The error is owner.ErrProofNeeded if the proof is missing, and an owner.InvalidError
// if it is wrong. RegisterKey also returns the errors of Account.AdmitWrite and
// Account.RegisterKey. owner.PublicKey explains the order of the writes. If a call
// fails or crashes between two writes, it can be repeated.
func (s *Service) RegisterKey(ctx context.Context, c owner.Caller, k owner.NewKey, proof string, m eventstore.Metadata) (owner.Key, eventstore.Position, error) {
	proved, err := s.checkProof(proof, c.OwnerID, k.PublicKey)
	if err != nil {
		return owner.Key{}, 0, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registerTimeout) // so that a move continues even if the client disconnects
	defer cancel()
	g := registration{service: s, caller: c, id: uuid.NewString(), key: k, proved: proved, meta: m}
	if err := g.prepare(ctx); err != nil {
		return owner.Key{}, 0, err
	}
	account, position, err := s.options.Accounts.Change(ctx, c.OwnerID, m, g.register)
	registered, _ := account.Key(g.id)
	return registered, position, err
}

// checkProof reports whether the caller has proved that it has the private key. A
// wrong proof is an error.
func (s *Service) checkProof(proof, ownerID string, public ed25519.PublicKey) (bool, error) {
	if proof == "" {
		return false, nil
	}
	challenge := rest.KeyChallenge(s.base, ownerID, public)
	signature, ok := decodeBase64(proof, ed25519.SignatureSize)
	if !ok || !ed25519.Verify(public, []byte(challenge), signature) {
		return false, owner.Invalid("proof", fmt.Sprintf("must be the base64 encoding of this key's Ed25519 signature of the text %q", challenge))
	}
	return true, nil
}

// registration is one call of RegisterKey.
type registration struct {
	service *Service
	caller  owner.Caller
	id      string // id of the new key
	key     owner.NewKey
	proved  bool
	meta    eventstore.Metadata
}

func (g registration) register(a owner.Account) ([]owner.Event, error) {
	if err := a.AdmitWrite(g.caller, g.meta.At); err != nil {
		return nil, err
	}
	return a.RegisterKey(g.id, g.key, g.caller)
}

// prepare takes the key away from other accounts. It first checks that the caller's
// account may register the key, so that a call that is bound to fail takes nothing from
// anyone.
func (g registration) prepare(ctx context.Context) error {
	account, err := g.account(ctx, g.caller.OwnerID)
	if err != nil {
		return err
	}
	if _, err := g.register(account); err != nil {
		return err
	}
	others, err := g.others(ctx)
	if err != nil {
		return err
	}
	previous, err := g.claim(ctx)
	if err != nil {
		return err
	}
	for _, claim := range append(others, previous) {
		if err := g.yield(ctx, claim); err != nil {
			return err
		}
	}
	return nil
}

// The method others() returns the active registrations of the key in other accounts,
// including registrations from before public keys had their own streams.
func (g registration) others(ctx context.Context) ([]owner.KeyClaim, error) {
	found, err := g.service.options.Directory.Registrations(ctx, g.key.PublicKey)
	if err != nil {
		return nil, err
	}
	var others []owner.KeyClaim
	for _, k := range found {
		if k.OwnerID == g.caller.OwnerID {
			continue
		}
		account, err := g.account(ctx, k.OwnerID)
		if err != nil {
			return nil, err
		}
		events, err := account.YieldKey(k.ID, g.proved)
		if err != nil {
			return nil, err
		}
		if len(events) > 0 {
			others = append(others, owner.KeyClaim{OwnerID: k.OwnerID, KeyID: k.ID})
		}
	}
	return others, nil
}

// claim appends the account's claim to the stream of the public key. It returns the
// previous claim. The account of that claim must yield the key.
func (g registration) claim(ctx context.Context) (previous owner.KeyClaim, err error) {
	stream := eventstore.StreamID(owner.PublicKeyStream(g.key.PublicKey))
	_, _, err = publics.Handle(ctx, g.service.options.Log, stream, owner.PublicKey{}, g.meta, func(p owner.PublicKey) ([]owner.Event, error) {
		if err := g.yield(ctx, p.Before); err != nil {
			return nil, err
		}
		holder, err := g.account(ctx, p.Last.OwnerID)
		if err != nil {
			return nil, err
		}
		previous = p.Last
		return p.Claim(g.caller.OwnerID, g.id, holder.Holds(p.Last, g.meta.At), g.proved)
	})
	if err == nil {
		g.service.options.Logger.DebugContext(ctx, "claimed a public key", slog.String("owner", g.caller.OwnerID), slog.String("key", g.id))
	}
	return previous, err
}

// account returns the current state of an account, or the zero Account if the id is
// empty.
func (g registration) account(ctx context.Context, ownerID string) (owner.Account, error) {
	if ownerID == "" {
		return owner.Account{}, nil
	}
	return g.service.options.Accounts.Reload(ctx, ownerID)
}

// yield makes the account of an earlier claim give up the key. If the earlier claim
// belongs to the caller's own account and its key is active, another call has already
// registered the key, and the error is owner.ErrKeyExists.
func (g registration) yield(ctx context.Context, earlier owner.KeyClaim) error {
	if earlier == (owner.KeyClaim{}) {
		return nil
	}
	own := earlier.OwnerID == g.caller.OwnerID
	_, position, err := g.service.options.Accounts.Change(ctx, earlier.OwnerID, g.meta, func(a owner.Account) ([]owner.Event, error) {
		return a.YieldKey(earlier.KeyID, g.proved && !own)
	})
	if own && errors.Is(err, owner.ErrProofNeeded) {
		return owner.ErrKeyExists
	}
	if position > 0 {
		g.service.options.Logger.InfoContext(ctx, "a public key moved to another account", slog.String("owner", earlier.OwnerID), slog.String("key", earlier.KeyID),
			slog.String("to", g.caller.OwnerID), slog.String("request", g.meta.Correlation))
	}
	return err
}

package auth

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// sign signs a request in the same way as an owner's client, and adds the headers of
// the signature to h. target is the path and query as sent.
func sign(h http.Header, keyID string, key ed25519.PrivateKey, now time.Time, method, target string, body []byte) {
	timestamp := strconv.FormatInt(now.UnixMilli(), 10)
	h.Set(headerKey, keyID)
	h.Set(headerTimestamp, timestamp)
	h.Set(headerSignature, encodeBase64(ed25519.Sign(key, signedMessage(timestamp, method, target, body))))
}

func encodeBase64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

var accounts = eventstore.Kind[owner.Account, owner.Event]{Decode: owner.Decode, Evolve: owner.Evolve}

// plainAccounts implements Accounts without a cache: each call reads the whole
// stream.
type plainAccounts struct{ log eventstore.Log }

func (p plainAccounts) Load(ctx context.Context, ownerID string) (owner.Account, error) {
	a, _, err := accounts.Load(ctx, p.log, eventstore.StreamID(owner.AccountStream(ownerID)), owner.Account{})
	return a, err
}

func (p plainAccounts) Reload(ctx context.Context, ownerID string) (owner.Account, error) {
	return p.Load(ctx, ownerID)
}

func (p plainAccounts) Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error) {
	return accounts.Handle(ctx, p.log, eventstore.StreamID(owner.AccountStream(ownerID)), owner.Account{}, m, decide)
}

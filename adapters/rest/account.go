package rest

import (
	"encoding/base64"
	"net/url"
	"strings"

	"hexarena/domain/owner"
)

// Account is an account as its owner sees it.
type Account struct {
	ID    string `json:"id"`
	Name  string `json:"name" doc:"The owner's public handle; empty until the owner chooses one."`
	Email string `json:"email"`
	Mails Mails  `json:"mails" doc:"Which emails about your bots you get."`
}

// Mails says which kinds of emails an owner gets about the health of their bots.
type Mails struct {
	Failing     bool `json:"failing" doc:"A bot turned failing."`
	Unreachable bool `json:"unreachable" doc:"A bot turned unreachable."`
	Recovered   bool `json:"recovered" doc:"A bot is ok again, and you got an email about its trouble."`
}

// AccountPatch is a change of an account. Absent fields do not change.
type AccountPatch struct {
	Name  *string     `json:"name,omitempty" minLength:"3" maxLength:"20" pattern:"^[a-z0-9_-]+$"`
	Mails *MailsPatch `json:"mails,omitempty" doc:"Switches emails on or off."`
}

// MailsPatch switches kinds of emails on or off. Absent fields do not change.
type MailsPatch struct {
	Failing     *bool `json:"failing,omitempty"`
	Unreachable *bool `json:"unreachable,omitempty"`
	Recovered   *bool `json:"recovered,omitempty"`
}

// SignIn is a request for a sign-in link by email.
type SignIn struct {
	Email string `json:"email" format:"email"`
}

// SignInConfirmation is a request to exchange the token of a sign-in link for a
// session.
type SignInConfirmation struct {
	Token string `json:"token"`
}

// Key is an API key without the private key, which the arena never sees.
type Key struct {
	ID         string        `json:"id" doc:"The key's id. Signed calls send it in the header x-arena-key."`
	Name       string        `json:"name"`
	PublicKey  string        `json:"publicKey" doc:"The base64 encoding of the key's 32 bytes."`
	Scopes     []owner.Scope `json:"scopes" nullable:"false"`
	CreatedAt  string        `json:"createdAt" format:"date-time"`
	LastUsedAt *string       `json:"lastUsedAt" format:"date-time" doc:"Updated at most once an hour; null if the key was never used."`
	RevokedAt  *string       `json:"revokedAt" format:"date-time"`
}

// Keys lists an account's API keys, including revoked ones.
type Keys struct {
	Keys []Key `json:"keys" nullable:"false"`
}

// NewKey registers an API key.
type NewKey struct {
	Name      string   `json:"name" minLength:"1" maxLength:"40"`
	PublicKey string   `json:"publicKey" doc:"An OpenSSH public-key line, a PEM block, or the base64 encoding of the key's 32 bytes."`
	Scopes    []string `json:"scopes,omitempty" nullable:"false" enum:"bots.read,bots.write,keys.read,keys.write,account.read,account.write"`
	Proof     string   `json:"proof,omitempty" doc:"The base64 encoding of the key's signature of its challenge. Needed only if the key is active in another account. The key's registration in that account is then revoked."`
}

// KeyChallenge returns the text that an account must sign to prove that it has the
// private key for a public key. The parameter base is the URL of the arena. The text
// names the arena and the account, so the signature is useless for any other arena or
// account (docs/protocol.md#moving-a-key-to-another-account). The text of a signed
// request never begins with the same letters, so a signature of one text is never valid
// for the other.
func KeyChallenge(base *url.URL, accountID string, public []byte) string {
	return "hexarena key proof\n" + strings.ToLower(base.Host) + "\n" + accountID + "\n" + base64.StdEncoding.EncodeToString(public)
}

package owner

import (
	"time"

	"hexarena/domain/event"
)

// Event is an event in one of this package's streams. EventType returns the name under
// which the log stores events of this type. The name never changes.
type Event interface{ EventType() string }

// SignedUp opens an account.
type SignedUp struct {
	OwnerID     string `json:"ownerId"`
	AddressHash string `json:"addressHash"` // names the mailbox that the account has claimed
}

// HandleChosen gives the account its public handle.
type HandleChosen struct {
	Handle string `json:"handle"`
}

// SessionStarted lets the bearer of a token act as the owner.
type SessionStarted struct {
	Session string    `json:"session"` // hash of the token
	Until   time.Time `json:"until"`
}

// SessionEnded ends a session.
type SessionEnded struct {
	Session string `json:"session"`
}

// APIKeyRegistered lets a key sign requests.
type APIKeyRegistered struct {
	KeyID     string  `json:"keyId"`
	Name      string  `json:"name"`
	PublicKey []byte  `json:"publicKey"` // 32 bytes
	Scopes    []Scope `json:"scopes"`
}

// APIKeyUsed records that a key signed a request. For each key, the log stores
// at most one such event an hour.
type APIKeyUsed struct {
	KeyID string `json:"keyId"`
}

// ByOtherAccount is the source of a revocation: another account has registered the
// same public key.
const ByOtherAccount = "other_account"

// APIKeyRevoked revokes a key permanently. A key that is not registered yet can no
// longer be registered under this id.
type APIKeyRevoked struct {
	KeyID string `json:"keyId"`
	By    string `json:"by,omitempty"` // absent if the key's owner revoked it
}

// BotRegistered adds an active bot.
type BotRegistered struct {
	BotID string `json:"botId"`
	Name  string `json:"name"`
	Mode  string `json:"mode"`
	URL   string `json:"url"`
}

// BotRenamed changes a bot's name.
type BotRenamed struct {
	BotID string `json:"botId"`
	Name  string `json:"name"`
}

// BotURLChanged changes the URL at which the arena dials a bot.
type BotURLChanged struct {
	BotID string `json:"botId"`
	URL   string `json:"url"`
}

// The sources of a pause.
const (
	ByOwner    = "owner"
	ByOperator = "operator"
	ByMisses   = "misses"
)

// BotPaused keeps a bot out of matchmaking. If By is ByOperator, the bot is
// suspended, and only an operator can restore it.
type BotPaused struct {
	BotID  string `json:"botId"`
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"` // from the operator
}

// BotUnpaused returns a bot to matchmaking. If By is ByOperator, it restores
// the bot to the status that its owner wants.
type BotUnpaused struct {
	BotID  string `json:"botId"`
	By     string `json:"by,omitempty"`     // absent if the bot's owner unpaused it
	Reason string `json:"reason,omitempty"` // from the operator
}

// BotRemoved removes a bot from its ladder permanently.
type BotRemoved struct {
	BotID string `json:"botId"`
}

// TrialOrdered orders a trial of a paused bot. The process that runs the matches also
// runs the trial.
type TrialOrdered struct {
	BotID   string `json:"botId"`
	TrialID string `json:"trialId"`
}

// TrialEnded ends a trial. From then on, the bot may be unpaused.
type TrialEnded struct {
	BotID   string `json:"botId"`
	TrialID string `json:"trialId"`
	Outcome string `json:"outcome"` // TrialCompleted, …
}

// AboutMisses is the topic of a notice about a bot that the arena paused because the
// bot had missed its matches for a week.
const AboutMisses = "misses"

// AboutMovedKey is the topic of a notice about a key that the arena revoked because
// another account proved that it has the private key.
const AboutMovedKey = "moved_key"

// Notified records that the arena sent the owner an email about a bot or a key.
type Notified struct {
	BotID string `json:"botId,omitempty"` // absent if the email is about a key
	KeyID string `json:"keyId,omitempty"` // absent if the email is about a bot
	About string `json:"about"`           // AboutMisses, AboutMovedKey or one of MailKinds
}

// MailSwitched switches the emails of one kind on or off. They are on until the first
// such event.
type MailSwitched struct {
	About string `json:"about"` // one of MailKinds
	On    bool   `json:"on"`
}

// BotMailDecided records the decision to send the owner an email about a bot's health.
// The arena stores it before it sends the email, and Notified afterward.
type BotMailDecided struct {
	BotID   string    `json:"botId"`
	About   string    `json:"about"`   // one of MailKinds
	Since   time.Time `json:"since"`   // when the bot's state changed
	Trouble time.Time `json:"trouble"` // when the bot last stopped being ok
}

// Suspended keeps all of an account's bots out of matchmaking until an operator
// restores the account. Until then, the account may only read.
type Suspended struct {
	Reason string `json:"reason"`
}

// Restored ends a suspension.
type Restored struct {
	Reason string `json:"reason"`
}

// Deleted ends an account permanently, with its bots, keys and sessions. The
// address and the handles are released afterwards.
type Deleted struct{}

// SignatureSpent records that a signed write ran or was about to run, so that nobody
// can use the signature again.
type SignatureSpent struct {
	Signature string `json:"signature"` // hash of the key id and the signed message
}

// AddressSet holds an account's email address, as its owner typed it.
type AddressSet struct {
	Address string `json:"address"`
}

// SignInLinkIssued lets the bearer of a token sign in once. Only old logs contain
// this event. Today the arena issues a link without an event.
type SignInLinkIssued struct {
	Link  string    `json:"link"` // hash of the token
	Until time.Time `json:"until"`
}

// SignInLinkUsed marks a sign-in link as used.
type SignInLinkUsed struct {
	Link  string    `json:"link"`           // hash of the token
	Until time.Time `json:"until,omitzero"` // when the link expires; absent in old logs
}

// APIKeyClaimed announces that an account is about to register a public key.
type APIKeyClaimed struct {
	OwnerID string `json:"ownerId"`
	KeyID   string `json:"keyId"`
}

// NameClaimed gives an address or a handle to an account.
type NameClaimed struct {
	OwnerID string `json:"ownerId"`
}

// NameReleased releases an address or a handle.
type NameReleased struct {
	OwnerID string `json:"ownerId"`
}

// EventType implements Event.
func (SignedUp) EventType() string { return "OwnerSignedUp" }

// EventType implements Event.
func (HandleChosen) EventType() string { return "HandleChosen" }

// EventType implements Event.
func (SessionStarted) EventType() string { return "SessionStarted" }

// EventType implements Event.
func (SessionEnded) EventType() string { return "SessionEnded" }

// EventType implements Event.
func (APIKeyRegistered) EventType() string { return "ApiKeyRegistered" }

// EventType implements Event.
func (APIKeyUsed) EventType() string { return "ApiKeyUsed" }

// EventType implements Event.
func (APIKeyRevoked) EventType() string { return "ApiKeyRevoked" }

// EventType implements Event.
func (BotRegistered) EventType() string { return "BotRegistered" }

// EventType implements Event.
func (BotRenamed) EventType() string { return "BotRenamed" }

// EventType implements Event.
func (BotURLChanged) EventType() string { return "BotUrlChanged" }

// EventType implements Event.
func (BotPaused) EventType() string { return "BotPaused" }

// EventType implements Event.
func (BotUnpaused) EventType() string { return "BotUnpaused" }

// EventType implements Event.
func (BotRemoved) EventType() string { return "BotRemoved" }

// EventType implements Event.
func (TrialOrdered) EventType() string { return "TrialOrdered" }

// EventType implements Event.
func (TrialEnded) EventType() string { return "TrialEnded" }

// EventType implements Event.
func (Notified) EventType() string { return "OwnerNotified" }

// EventType implements Event.
func (MailSwitched) EventType() string { return "MailSwitched" }

// EventType implements Event.
func (BotMailDecided) EventType() string { return "BotMailDecided" }

// EventType implements Event.
func (Suspended) EventType() string { return "OwnerSuspended" }

// EventType implements Event.
func (Restored) EventType() string { return "OwnerRestored" }

// EventType implements Event.
func (Deleted) EventType() string { return "OwnerDeleted" }

// EventType implements Event.
func (SignatureSpent) EventType() string { return "SignatureSpent" }

// EventType implements Event.
func (AddressSet) EventType() string { return "AddressSet" }

// EventType implements Event.
func (SignInLinkIssued) EventType() string { return "SignInLinkIssued" }

// EventType implements Event.
func (SignInLinkUsed) EventType() string { return "SignInLinkUsed" }

// EventType implements Event.
func (APIKeyClaimed) EventType() string { return "ApiKeyClaimed" }

// EventType implements Event.
func (NameClaimed) EventType() string { return "NameClaimed" }

// EventType implements Event.
func (NameReleased) EventType() string { return "NameReleased" }

// Decode reads a stored event of any of this package's streams. An unknown
// type is an error.
func Decode(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "OwnerSignedUp":
		return event.Decode[SignedUp](data)
	case "HandleChosen":
		return event.Decode[HandleChosen](data)
	case "SessionStarted":
		return event.Decode[SessionStarted](data)
	case "SessionEnded":
		return event.Decode[SessionEnded](data)
	case "ApiKeyRegistered":
		return event.Decode[APIKeyRegistered](data)
	case "ApiKeyUsed":
		return event.Decode[APIKeyUsed](data)
	case "ApiKeyRevoked":
		return event.Decode[APIKeyRevoked](data)
	case "BotRegistered":
		return event.Decode[BotRegistered](data)
	case "BotRenamed":
		return event.Decode[BotRenamed](data)
	case "BotUrlChanged":
		return event.Decode[BotURLChanged](data)
	case "BotPaused":
		return event.Decode[BotPaused](data)
	case "BotUnpaused":
		return event.Decode[BotUnpaused](data)
	case "BotRemoved":
		return event.Decode[BotRemoved](data)
	case "TrialOrdered":
		return event.Decode[TrialOrdered](data)
	case "TrialEnded":
		return event.Decode[TrialEnded](data)
	case "OwnerNotified":
		return event.Decode[Notified](data)
	case "MailSwitched":
		return event.Decode[MailSwitched](data)
	case "BotMailDecided":
		return event.Decode[BotMailDecided](data)
	case "OwnerSuspended":
		return event.Decode[Suspended](data)
	case "OwnerRestored":
		return event.Decode[Restored](data)
	case "OwnerDeleted":
		return event.Decode[Deleted](data)
	case "SignatureSpent":
		return event.Decode[SignatureSpent](data)
	case "AddressSet":
		return event.Decode[AddressSet](data)
	case "SignInLinkIssued":
		return event.Decode[SignInLinkIssued](data)
	case "SignInLinkUsed":
		return event.Decode[SignInLinkUsed](data)
	case "ApiKeyClaimed":
		return event.Decode[APIKeyClaimed](data)
	case "NameClaimed":
		return event.Decode[NameClaimed](data)
	case "NameReleased":
		return event.Decode[NameReleased](data)
	default:
		return nil, event.UnknownType(eventType, "an owner's stream")
	}
}

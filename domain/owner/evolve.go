package owner

import (
	"cmp"
	"slices"
	"time"
)

// Evolve returns the account a after the event e, which occurred at the given time.
// It never rejects an event, and does not change a or anything that a points to.
func Evolve(a Account, e Event, at time.Time) Account {
	switch e := e.(type) {
	case SignedUp:
		a.ID, a.AddressHash = e.OwnerID, e.AddressHash
	case HandleChosen:
		a = a.renamed(e.Handle, at)
	case SessionStarted:
		a.Sessions = append(without(a.Sessions, func(s Session) bool { return !at.Before(s.Until) }), Session{Hash: e.Session, Until: e.Until})
	case SessionEnded:
		a.Sessions = without(a.Sessions, func(s Session) bool { return s.Hash == e.Session })
	case APIKeyRegistered:
		a.Keys = append(slices.Clone(a.Keys), Key{ID: e.KeyID, Name: e.Name, PublicKey: e.PublicKey, Scopes: e.Scopes, CreatedAt: at})
	case APIKeyUsed:
		a.Keys = changeKey(a.Keys, e.KeyID, func(k *Key) { k.LastUsedAt = at })
	case APIKeyRevoked:
		a = a.keyRevoked(e, at)
	case Suspended:
		a.Suspended, a.Why = true, e.Reason
		a.Bots = a.settled(at)
	case Restored:
		a.Suspended, a.Why = false, ""
		a.Bots = a.settled(at)
	case Deleted:
		return Account{ID: a.ID, AddressHash: a.AddressHash, Handle: a.Handle, former: a.former, Deleted: true}
	case Notified:
		a.notices = append(without(a.notices, func(t time.Time) bool { return at.Sub(t) >= NoticeWindow }), at)
		a.Bots = changeBot(a.Bots, e.BotID, func(b *Bot) { b.notify(e.About, at) })
		a.Keys = changeKey(a.Keys, e.KeyID, func(k *Key) { k.Notified = true })
	case MailSwitched:
		a.mailsOff = without(a.mailsOff, func(about string) bool { return about == e.About })
		if !e.On {
			a.mailsOff = append(a.mailsOff, e.About)
		}
	case BotMailDecided:
		a.Bots = changeBot(a.Bots, e.BotID, func(b *Bot) { b.setMail(BotMail{About: e.About, Since: e.Since, Trouble: e.Trouble}) })
	case TrialOrdered:
		a.trials = append(without(a.trials, func(t time.Time) bool { return at.Sub(t) >= TrialWindow }), at)
		a.Bots = a.evolveTrial(e, at)
	case TrialEnded:
		a.Bots = a.evolveTrial(e, at)
	default:
		a.Bots = a.evolveBots(e, at)
	}
	return a
}

// keyRevoked returns the account after a revocation. If the key is not registered
// yet, the account will refuse to register it under this id.
func (a Account) keyRevoked(e APIKeyRevoked, at time.Time) Account {
	if _, ok := a.Key(e.KeyID); !ok {
		a.refusedKeys = append(slices.Clone(a.refusedKeys), e.KeyID)
		return a
	}
	a.Keys = changeKey(a.Keys, e.KeyID, func(k *Key) { k.RevokedAt, k.Moved = at, e.By == ByOtherAccount })
	return a
}

// evolveBots returns the bots after an event about one of them.
func (a Account) evolveBots(e Event, at time.Time) []Bot {
	status := func(id string, change func(*Bot)) []Bot {
		return changeBot(a.Bots, id, func(b *Bot) {
			change(b)
			*b = b.settled(a.Suspended, at)
		})
	}
	switch e := e.(type) {
	case BotRegistered:
		b := Bot{ID: e.BotID, Name: e.Name, Mode: e.Mode, URL: e.URL, CreatedAt: at}
		return append(slices.Clone(a.Bots), b.settled(a.Suspended, at))
	case BotRenamed:
		return changeBot(a.Bots, e.BotID, func(b *Bot) { b.Name = e.Name })
	case BotURLChanged:
		return changeBot(a.Bots, e.BotID, func(b *Bot) { b.URL = e.URL })
	case BotPaused:
		return status(e.BotID, func(b *Bot) { b.pause(e.By, e.Reason) })
	case BotUnpaused:
		return status(e.BotID, func(b *Bot) { b.unpause(e.By) })
	case BotRemoved:
		return without(a.Bots, func(b Bot) bool { return b.ID == e.BotID })
	}
	return a.Bots
}

func (b *Bot) pause(by, reason string) {
	if by == ByOperator {
		b.Suspended, b.Why = true, reason
		return
	}
	b.PausedBy, b.Notified = cmp.Or(by, ByOwner), false
}

func (b *Bot) unpause(by string) {
	if by == ByOperator {
		b.Suspended, b.Why = false, ""
		return
	}
	b.PausedBy, b.Notified = "", false
}

// The method settled() returns all bots with recomputed statuses.
func (a Account) settled(at time.Time) []Bot {
	return changed(a.Bots, func(Bot) bool { return true }, func(b *Bot) { *b = b.settled(a.Suspended, at) })
}

func changeKey(keys []Key, id string, change func(*Key)) []Key {
	return changed(keys, func(k Key) bool { return k.ID == id }, change)
}

func changeBot(bots []Bot, id string, change func(*Bot)) []Bot {
	return changed(bots, func(b Bot) bool { return b.ID == id }, change)
}

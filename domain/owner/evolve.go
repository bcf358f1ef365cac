package owner

import (
	"slices"
	"time"
)

// Evolve returns a as it is after e, which occurred at a time. It never
// rejects, and leaves a and what it points to as they are.
func Evolve(a Account, e Event, at time.Time) Account {
	switch e := e.(type) {
	case SignedUp:
		a.ID, a.AddressHash = e.OwnerID, e.AddressHash
	case HandleChosen:
		a.Handle = e.Handle
	case SessionStarted:
		a.Sessions = append(running(a.Sessions, at), Session{Hash: e.Session, Until: e.Until})
	case SessionEnded:
		a.Sessions = without(a.Sessions, func(s Session) bool { return s.Hash == e.Session })
	case APIKeyRegistered:
		a.Keys = append(slices.Clone(a.Keys), Key{ID: e.KeyID, Name: e.Name, PublicKey: e.PublicKey, Scopes: e.Scopes, CreatedAt: at})
	case APIKeyUsed:
		a.Keys = changeKey(a.Keys, e.KeyID, func(k *Key) { k.LastUsedAt = at })
	case APIKeyRevoked:
		a.Keys = changeKey(a.Keys, e.KeyID, func(k *Key) { k.RevokedAt = at })
	case BotRegistered:
		a.Bots = append(slices.Clone(a.Bots), Bot{ID: e.BotID, Name: e.Name, Mode: e.Mode, URL: e.URL, Status: Active, CreatedAt: at})
	case BotRenamed:
		a.Bots = changeBot(a.Bots, e.BotID, func(b *Bot) { b.Name = e.Name })
	case BotURLChanged:
		a.Bots = changeBot(a.Bots, e.BotID, func(b *Bot) { b.URL = e.URL })
	case BotPaused:
		a.Bots = changeBot(a.Bots, e.BotID, func(b *Bot) { b.Status = Paused })
	case BotUnpaused:
		a.Bots = changeBot(a.Bots, e.BotID, func(b *Bot) { b.Status = Active })
	case BotRemoved:
		a.Bots = without(a.Bots, func(b Bot) bool { return b.ID == e.BotID })
	}
	return a
}

// running returns the sessions that have not run out.
func running(sessions []Session, at time.Time) []Session {
	return without(sessions, func(s Session) bool { return !at.Before(s.Until) })
}

// without returns a copy of items that leaves out those that match.
func without[T any](items []T, match func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(items), match)
}

func changeKey(keys []Key, id string, change func(*Key)) []Key {
	keys = slices.Clone(keys)
	for i := range keys {
		if keys[i].ID == id {
			change(&keys[i])
		}
	}
	return keys
}

func changeBot(bots []Bot, id string, change func(*Bot)) []Bot {
	bots = slices.Clone(bots)
	for i := range bots {
		if bots[i].ID == id {
			change(&bots[i])
		}
	}
	return bots
}

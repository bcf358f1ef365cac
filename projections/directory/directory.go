// Package directory is the read model of who is who: the owner of a key, a
// bot's name, address and status, an owner's handle. Authentication, the
// matchmaker and the public answers look things up here; what an owner manages
// is folded from the owner's own stream instead.
package directory

import (
	"sync"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Bot is a registered bot, removed ones included.
type Bot struct {
	ID           string
	OwnerID      string
	Name         string
	Mode         string
	URL          string
	Active       bool
	Removed      bool
	RegisteredAt time.Time
}

// Directory is the model; Apply it through a projections.Runner.
type Directory struct {
	mu      sync.RWMutex
	bots    map[string]Bot
	keys    map[string]string // key id → owner id
	handles map[string]string // owner id → handle
}

// New returns an empty directory.
func New() *Directory {
	return &Directory{bots: map[string]Bot{}, keys: map[string]string{}, handles: map[string]string{}}
}

// Name implements projections.Model.
func (d *Directory) Name() string { return "directory" }

// Filter implements projections.Model.
func (d *Directory) Filter() eventstore.Filter {
	return eventstore.Filter{StreamPrefixes: []string{owner.AccountPrefix}}
}

// Apply implements projections.Model.
func (d *Directory) Apply(r eventstore.Recorded) error {
	id, ok := owner.ParseAccountStream(string(r.Stream))
	if !ok {
		return nil
	}
	e, err := owner.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	m, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fold(id, e, m.At)
	return nil
}

func (d *Directory) fold(ownerID string, e owner.Event, at time.Time) {
	switch e := e.(type) {
	case owner.HandleChosen:
		d.handles[ownerID] = e.Handle
	case owner.APIKeyRegistered:
		d.keys[e.KeyID] = ownerID
	case owner.BotRegistered:
		d.bots[e.BotID] = Bot{ID: e.BotID, OwnerID: ownerID, Name: e.Name, Mode: e.Mode, URL: e.URL, Active: true, RegisteredAt: at}
	case owner.BotRenamed:
		d.change(e.BotID, func(b *Bot) { b.Name = e.Name })
	case owner.BotURLChanged:
		d.change(e.BotID, func(b *Bot) { b.URL = e.URL })
	case owner.BotPaused:
		d.change(e.BotID, func(b *Bot) { b.Active = false })
	case owner.BotUnpaused:
		d.change(e.BotID, func(b *Bot) { b.Active = true })
	case owner.BotRemoved:
		d.change(e.BotID, func(b *Bot) { b.Active, b.Removed = false, true })
	}
}

func (d *Directory) change(id string, change func(*Bot)) {
	if b, ok := d.bots[id]; ok {
		change(&b)
		d.bots[id] = b
	}
}

// Bot returns a bot, removed ones included: its matches stay.
func (d *Directory) Bot(id string) (Bot, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	b, ok := d.bots[id]
	return b, ok
}

// Active returns the bots of a mode that are to be seated, in no order.
func (d *Directory) Active(mode string) []Bot {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var list []Bot
	for _, b := range d.bots {
		if b.Active && b.Mode == mode {
			list = append(list, b)
		}
	}
	return list
}

// OwnerOfKey returns whose API key that is, revoked ones included.
func (d *Directory) OwnerOfKey(keyID string) (ownerID string, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	ownerID, ok = d.keys[keyID]
	return ownerID, ok
}

// Handle returns an owner's public handle, empty until chosen.
func (d *Directory) Handle(ownerID string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.handles[ownerID]
}

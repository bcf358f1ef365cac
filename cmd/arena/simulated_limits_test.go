package main

import (
	"bytes"
	"context"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hexarena/cmd/arena/simulate"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// within counts the times that lie in a window before a time.
func within(times []time.Time, now time.Time, window time.Duration) (n int) {
	for _, at := range times {
		if now.Sub(at) < window {
			n++
		}
	}
	return n
}

// limits is what the limits of one account depend on.
type limits struct {
	mode            map[string]string // of each bot
	active          map[string]bool   // bots
	trial           map[string]string // the open trial of each bot
	keys            map[string]bool   // that are not revoked
	trials, notices []time.Time
}

// judgeLimits checks the limits of all accounts. Times are those of the arena.
func (s *simulation) judgeLimits() {
	accounts := map[eventstore.StreamID]*limits{}
	for r, err := range s.log.Store().ReadAll(context.Background(), 0, eventstore.ReadOptions{}) {
		if err != nil || !strings.HasPrefix(string(r.Stream), owner.AccountPrefix) {
			continue // another judge reports the error
		}
		e, err := owner.Decode(r.Type, r.Data)
		m, metaErr := eventstore.DecodeMetadata(r)
		if err != nil || metaErr != nil {
			s.failed("%s@%d: %v %v", r.Stream, r.Revision, err, metaErr)
			continue
		}
		a := accounts[r.Stream]
		if a == nil {
			a = &limits{mode: map[string]string{}, active: map[string]bool{}, trial: map[string]string{}, keys: map[string]bool{}}
			accounts[r.Stream] = a
		}
		if broken := a.fold(e, m.At); broken != "" {
			s.failed("%s@%d: %s", r.Stream, r.Revision, broken)
		}
	}
}

// fold folds an event, and returns which limit it breaks.
func (a *limits) fold(event owner.Event, at time.Time) (broken string) {
	switch e := event.(type) {
	case owner.BotRegistered:
		a.mode[e.BotID], a.active[e.BotID] = e.Mode, true
	case owner.BotUnpaused:
		a.active[e.BotID] = true
		if a.trial[e.BotID] != "" {
			return "an unpaused bot is in a trial"
		}
	case owner.BotPaused:
		delete(a.active, e.BotID)
	case owner.BotRemoved:
		delete(a.active, e.BotID)
	case owner.APIKeyRegistered:
		a.keys[e.KeyID] = true
	case owner.APIKeyRevoked:
		delete(a.keys, e.KeyID)
	case owner.TrialOrdered:
		if a.active[e.BotID] || a.trial[e.BotID] != "" {
			return "a bot begins a trial while it is active or in another trial"
		}
		a.trial[e.BotID], a.trials = e.TrialID, append(a.trials, at)
	case owner.TrialEnded:
		if a.trial[e.BotID] != e.TrialID {
			return "a trial ends that is not open"
		}
		delete(a.trial, e.BotID)
	case owner.Notified:
		a.notices = append(a.notices, at)
	}
	modes := map[string]int{}
	for id := range a.active {
		modes[a.mode[id]]++
	}
	switch {
	case max(modes["standard"], modes["parley"]) > owner.BotLimit:
		return "too many active bots"
	case len(a.keys) > owner.KeyLimit:
		return "too many keys"
	case within(a.trials, at, owner.TrialWindow) > owner.TrialLimit:
		return "too many trials"
	case within(a.notices, at, owner.NoticeWindow) > owner.NoticeLimit:
		return "too many emails"
	}
	return ""
}

// judgeNames checks that the addresses and handles of deleted accounts become free. After a
// crash, it can happen that nobody releases the claim of a handle that the account never
// chose or has given up. Such a claim lapses.
func (s *simulation) judgeNames() {
	mailboxes, handles, accounts := map[eventstore.StreamID]owner.Mailbox{}, map[string]owner.Name{}, map[string]owner.Account{}
	var last time.Time
	for r, err := range s.log.Store().ReadAll(context.Background(), 0, eventstore.ReadOptions{}) {
		if err != nil {
			return // another judge reports it
		}
		e, err := owner.Decode(r.Type, r.Data)
		if err != nil {
			continue // other streams have other types
		}
		m, err := eventstore.DecodeMetadata(r)
		if err != nil {
			s.failed("the metadata of %s@%d: %v", r.Stream, r.Revision, err)
		}
		if m.At.After(last) {
			last = m.At
		}
		if id, ok := owner.ParseAccountStream(string(r.Stream)); ok {
			accounts[id] = owner.Evolve(accounts[id], e, m.At)
		} else if handle, ok := strings.CutPrefix(string(r.Stream), owner.HandlePrefix); ok {
			handles[handle] = owner.EvolveName(handles[handle], e, m.At)
		} else {
			mailboxes[r.Stream] = owner.EvolveMailbox(mailboxes[r.Stream], e, m.At)
		}
	}
	for stream, box := range mailboxes {
		if accounts[box.OwnerID].Deleted {
			s.failed("%s still belongs to the deleted account %s", stream, box.OwnerID)
		}
	}
	lapsed := last.Add(max(owner.ClaimGrace, owner.HandleReserved))
	for handle, n := range handles {
		free := !n.Released.IsZero() || n.Contested("", lapsed) && n.Abandoned(handle, accounts[n.OwnerID], lapsed)
		if accounts[n.OwnerID].Deleted && !free {
			s.failed("the handle %s still belongs to the deleted account %s", handle, n.OwnerID)
		}
	}
}

// judgeMails checks that the arena sent each email that it has recorded.
func (s *simulation) judgeMails() {
	sent := map[string]int{} // by address
	files, err := filepath.Glob(filepath.Join(s.root, "mail", "*.eml"))
	if err != nil {
		s.failed("%v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			s.failed("%v", err)
			continue
		}
		m, err := netmail.ReadMessage(bytes.NewReader(text))
		if err != nil {
			s.failed("%s: %v", file, err)
			continue
		}
		to, err := m.Header.AddressList("To")
		if err != nil || len(to) != 1 {
			s.failed("%s is not to one owner: %v", file, err)
			continue
		}
		if !bytes.Contains(text, []byte("/sign-in/confirm")) && s.world.Planted() != simulate.PlantLostMail {
			sent[to[0].Address]++
		}
	}
	for _, o := range s.owners {
		if o.deleted {
			continue
		}
		recorded := 0
		each(s, owner.AccountStream(o.id), owner.Decode, func(_ eventstore.Recorded, e owner.Event) {
			if _, ok := e.(owner.Notified); ok {
				recorded++
			}
		})
		if sent[o.address()] < recorded {
			s.failed("%s got %d emails, but the log says that there were %d", o.name, sent[o.address()], recorded)
		}
	}
}

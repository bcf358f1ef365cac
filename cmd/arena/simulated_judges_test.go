package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"hexarena/cmd/arena/offline"
	"hexarena/cmd/arena/simulate"
	"hexarena/cmd/arena/verify"
	domain "hexarena/domain/arena"
	"hexarena/domain/audit"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/health"
	"hexarena/projections/readmodels"
	"hexarena/projections/signedlog"
)

// Some judges look at each append. The others look at the whole log at the end, without
// faults.

// each calls f with each event of a stream.
func each[E any](s *simulation, stream string, decode func(string, []byte) (E, error), f func(eventstore.Recorded, E)) {
	eachFrom(s, stream, 0, decode, f)
}

// eachFrom is like each, but begins at a revision.
func eachFrom[E any](s *simulation, stream string, from eventstore.Revision, decode func(string, []byte) (E, error), f func(eventstore.Recorded, E)) {
	for r, err := range s.log.Store().Read(context.Background(), eventstore.StreamID(stream), from, eventstore.ReadOptions{}) {
		var e E
		if err == nil {
			e, err = decode(r.Type, r.Data)
		}
		if err != nil {
			s.failed("read %s: %v", stream, err)
			return
		}
		f(r, e)
	}
}

// unfinished returns the matches that are neither rated nor voided.
func (s *simulation) unfinished() (list []string) {
	for _, m := range s.judgeLadders() {
		if m.ended == "" {
			list = append(list, m.id)
		}
	}
	return list
}

// judgedMatch is a match on its ladder.
type judgedMatch struct {
	id    string
	bots  []string
	ended string // the type of the event that ended it
}

// stepJudge looks at each append. No bot may play two matches at a time. Each match is rated
// or voided once, and has one beginning and nothing after its end.
type stepJudge struct {
	mu      sync.Mutex // guards all fields
	ladders map[string]*ladderJudge
	ends    map[eventstore.StreamID]eventstore.Revision // by match
}

// ladderJudge is what the judge knows of a ladder. The log never loses its events.
type ladderJudge struct {
	next    eventstore.Revision
	matches []*judgedMatch // in the order of their seating
	byID    map[string]*judgedMatch
	playing map[string]string // by bot, its match
}

// judgeStep judges an append that the log has stored.
func (s *simulation) judgeStep(id eventstore.StreamID, first eventstore.Revision, events []eventstore.Event) {
	s.steps.mu.Lock()
	defer s.steps.mu.Unlock()
	if strings.HasPrefix(string(id), match.StreamPrefix) {
		s.judgeOrder(id, first, events)
	}
	for _, mode := range ladder.Modes {
		if string(id) == ladder.Stream(mode) {
			s.judgeLadder(mode)
		}
	}
}

// judgeOrder judges new events of a match. If the log has lost the end of the match, the
// revisions begin below that end.
func (s *simulation) judgeOrder(id eventstore.StreamID, first eventstore.Revision, events []eventstore.Event) {
	end, over := s.steps.ends[id]
	if over && first <= end {
		delete(s.steps.ends, id)
		over = false
	}
	for i, e := range events {
		r := first + eventstore.Revision(i)
		if over {
			s.failed("%s@%d: %s after the end", id, r, e.Type)
		}
		if begins := e.Type == (match.Started{}).EventType(); begins != (r == 0) {
			s.failed("%s@%d: %s is at the wrong place", id, r, e.Type)
		}
		if e.Type == (match.GameEnded{}).EventType() || e.Type == (match.Aborted{}).EventType() {
			s.steps.ends[id], over = r, true
		}
	}
}

// judgeLadders judges the new events of all ladders, and returns all matches.
func (s *simulation) judgeLadders() (all []judgedMatch) {
	s.steps.mu.Lock()
	defer s.steps.mu.Unlock()
	for _, mode := range ladder.Modes {
		for _, m := range s.judgeLadder(mode) {
			all = append(all, *m)
		}
	}
	return all
}

func (s *simulation) judgeLadder(mode string) []*judgedMatch {
	j := s.steps.ladders[mode]
	if j == nil {
		j = &ladderJudge{byID: map[string]*judgedMatch{}, playing: map[string]string{}}
		s.steps.ladders[mode] = j
	}
	end := func(id, how string) {
		m := j.byID[id]
		switch {
		case m == nil:
			s.failed("%s for match %s, which is not seated", how, id)
			return
		case m.ended != "":
			s.failed("match %s ends twice: %s and %s", id, m.ended, how)
		}
		m.ended = how
		for _, b := range m.bots {
			delete(j.playing, b)
		}
	}
	eachFrom(s, ladder.Stream(mode), j.next, ladder.Decode, func(r eventstore.Recorded, e ladder.Event) {
		j.next = r.Revision + 1
		switch e := e.(type) {
		case ladder.TablesSeated:
			for _, t := range e.Tables {
				m := &judgedMatch{id: t.MatchID, bots: t.Bots}
				j.byID[m.id] = m
				j.matches = append(j.matches, m)
				for _, b := range t.Bots {
					if other := j.playing[b]; other != "" {
						s.failed("bot %s is seated in %s while it plays %s", b, m.id, other)
					}
					j.playing[b] = m.id
				}
			}
		case ladder.RatingsChanged:
			end(e.MatchID, r.Type)
		case ladder.MatchVoided:
			if e.Why == "" {
				s.failed("match %s is voided without a cause", e.MatchID)
			}
			end(e.MatchID, r.Type)
		}
	})
	return j.matches
}

// judge looks for failures at the end of the history, while the arenas still run.
func (s *simulation) judge(ctx context.Context) {
	s.judgeAcknowledged()
	bots := s.judgePauses()
	matches := s.judgeLadders()
	var secrets []string
	for _, m := range matches {
		secrets = append(secrets, s.judgeMatch(m, bots)...)
	}
	s.judgeSightings(secrets)
	s.judgeFrames(ctx)
	s.judgeRequests(ctx, matches)
	s.judgeLimits()
	s.judgeNames()
	s.judgeMails()
	s.judgeAudit(ctx, matches)
}

// judgeAcknowledged checks that the log contains each acknowledged event.
func (s *simulation) judgeAcknowledged() {
	type place struct {
		stream   eventstore.StreamID
		revision eventstore.Revision
	}
	stored := map[place]uuid.UUID{}
	for r, err := range s.log.Store().ReadAll(context.Background(), 0, eventstore.ReadOptions{}) {
		if err != nil {
			s.failed("read the log: %v", err)
			return
		}
		stored[place{r.Stream, r.Revision}] = r.ID
	}
	for _, a := range s.log.Acked() {
		if stored[place{a.Stream, a.Revision}] != a.ID {
			s.failed("the acknowledged event %s of %s@%d is lost", a.ID, a.Stream, a.Revision)
		}
	}
}

// change is the moment at which a bot became active or inactive.
type change struct {
	at     time.Time
	active bool
}

// pauseDelay is how long a tick may work from before a pause.
const pauseDelay = 20 * time.Second

// judgePauses checks that ticks respect pauses. It returns the bots by id.
func (s *simulation) judgePauses() map[string]*simulate.Bot {
	bots, changes := map[string]*simulate.Bot{}, map[string][]change{}
	for r, err := range s.log.Store().ReadAll(context.Background(), 0, eventstore.ReadOptions{}) {
		if err != nil {
			s.failed("read the log: %v", err)
			return bots
		}
		if !strings.HasPrefix(string(r.Stream), owner.AccountPrefix) {
			continue
		}
		e, err := owner.Decode(r.Type, r.Data)
		if err != nil {
			s.failed("%s@%d: %v", r.Stream, r.Revision, err)
			continue
		}
		var id string
		var isActive bool
		switch e := e.(type) {
		case owner.BotRegistered:
			id, isActive = e.BotID, true
			bots[id] = s.bots[e.Name]
		case owner.BotUnpaused:
			id, isActive = e.BotID, true
		case owner.BotPaused:
			id = e.BotID
		case owner.BotRemoved:
			id = e.BotID
		default:
			continue
		}
		changes[id] = append(changes[id], change{r.Created, isActive})
	}
	for _, mode := range ladder.Modes {
		each(s, ladder.Stream(mode), ladder.Decode, func(r eventstore.Recorded, e ladder.Event) {
			seated, ok := e.(ladder.TablesSeated)
			if !ok {
				return
			}
			for _, t := range seated.Tables {
				for _, b := range t.Bots {
					if !mayBeActive(changes[b], seated.Tick) {
						s.failed("%s@%d seats bot %s, which has been paused for more than %s", r.Stream, r.Revision, b, pauseDelay)
					}
				}
			}
		})
	}
	return bots
}

// isActive reports whether a bot is active according to the log.
func (s *simulation) isActive(ownerID, botID string) (active bool) {
	each(s, owner.AccountStream(ownerID), owner.Decode, func(_ eventstore.Recorded, e owner.Event) {
		switch e := e.(type) {
		case owner.BotRegistered:
			active = active || e.BotID == botID
		case owner.BotUnpaused:
			active = active || e.BotID == botID
		case owner.BotPaused:
			active = active && e.BotID != botID
		}
	})
	return active
}

// mayBeActive reports whether a bot was active at a time or shortly before that.
func mayBeActive(changes []change, at time.Time) bool {
	active := false
	for _, c := range changes {
		switch {
		case c.at.Before(at.Add(-pauseDelay)):
			active = c.active
		case c.at.Before(at.Add(time.Millisecond)): // ticks have whole milliseconds
			active = active || c.active
		}
	}
	return active
}

// judgeMatch checks that the match has one history, and that good bots have no strikes.
// It returns what must stay secret while the match runs.
func (s *simulation) judgeMatch(m judgedMatch, bots map[string]*simulate.Bot) (secrets []string) {
	var seats []match.Seat
	begun, over := 0, 0
	strike := func(seat int, r eventstore.Recorded) {
		if b := bots[seats[seat].BotID]; b != nil && b.Conduct.Good() && !s.network.WasCut(b.Name, r.Created) {
			s.failed("the good bot %s gets a strike in %s@%d: %s %s", b.Name, r.Stream, r.Revision, r.Type, r.Data)
		}
	}
	each(s, match.Stream(m.id), match.Decode, func(r eventstore.Recorded, e match.Event) {
		if over > 0 {
			s.failed("%s@%d: %s after the end", r.Stream, r.Revision, r.Type)
		}
		switch e := e.(type) {
		case match.Started:
			begun++
			seats = e.Seats
		case match.DecisionTimedOut:
			strike(e.Seat, r)
		case match.AnswerRejected:
			strike(e.Seat, r)
		case match.SeatResigned:
			strike(e.Seat, r)
		case match.GameEnded:
			over++
			for _, secret := range []seed.Seed{e.Seed, e.Proof.ServerSeed} {
				secrets = append(secrets, hex.EncodeToString(secret[:]), base64.StdEncoding.EncodeToString(secret[:]))
			}
		case match.Aborted:
			over++
		}
	})
	if begun > 1 || over > 1 {
		s.failed("match %s begins %d times and ends %d times", m.id, begun, over)
	}
	return secrets
}

// judgeSightings checks that no response shows a secret of a match that still ran.
func (s *simulation) judgeSightings(secrets []string) {
	for _, seen := range s.seen {
		for _, secret := range secrets {
			if strings.Contains(seen.body, secret) && !strings.Contains(seen.body, `"status":"completed"`) {
				s.failed("%s shows the seed of a running match", seen.path)
			}
		}
	}
}

// judgeAudit lets the auditor recompute the ladder and each match.
func (s *simulation) judgeAudit(ctx context.Context, matches []judgedMatch) {
	platform := ""
	each(s, domain.KeysStream, domain.DecodeKeys, func(_ eventstore.Recorded, e domain.Event) {
		if e, ok := e.(domain.PlatformKeyPublished); ok {
			platform = e.PublicKey.String()
		}
	})
	for _, mode := range ladder.Modes {
		if _, err := verify.FoldLadder(ctx, s.log.Store(), io.Discard, mode, platform); err != nil {
			s.failed("the auditor rejects the ladder %s: %v", mode, err)
		}
	}
	for _, m := range matches {
		if m.ended == "" {
			continue
		}
		text := s.get(ctx, "/matches/"+m.id)
		record, err := audit.Parse(text)
		if err != nil {
			if m.ended == "RatingsChanged" {
				s.failed("the record of match %s: %v: %.200s", m.id, err, text)
			}
			continue
		}
		report := audit.Match(record, audit.Evidence{PlatformKey: platform, Required: true})
		if report.Difference != nil {
			s.failed("the auditor rejects match %s: %v", m.id, report.Difference)
		}
	}
}

// judgeModels compares the read models of one host with new ones. Call it when all
// processes have ended. The rows must be the same, and the heads of the ladder tree that
// were served must belong to the tree.
func (s *simulation) judgeModels(ctx context.Context) {
	h := s.hosts[s.world.Draw("judged host").IntN(len(s.hosts))]
	quiet := slog.New(slog.DiscardHandler)
	rows := func(dir string, then func(readmodels.Set)) (all []string) {
		set := readmodels.New(s.log.Store())
		for _, m := range set.All() {
			r, err := projections.Open(dir, s.log.Store(), m, quiet)
			if err != nil {
				s.failed("open %s of %s: %v", m.Name(), h.name, err)
				return nil
			}
			defer r.Close()
			if err := r.Sync(ctx); err != nil {
				s.failed("the read model %s of %s stops: %v", m.Name(), h.name, err)
				return nil
			}
			var text strings.Builder
			if err := r.Dump(&text); err != nil {
				s.failed("dump %s of %s: %v", m.Name(), h.name, err)
			}
			all = append(all, text.String())
		}
		then(set)
		return all
	}
	kept := rows(offline.ProjectionsDir(h.data), func(readmodels.Set) {})
	rebuilt := rows(filepath.Join(s.root, "rebuilt"), func(set readmodels.Set) {
		s.judgeHeads(ctx, set.SignedLog)
		s.judgeEvents(set.Health)
	})
	for i := range min(len(kept), len(rebuilt)) {
		if kept[i] != rebuilt[i] {
			s.failed("the read model %s of %s differs from a rebuild", readmodels.New(s.log.Store()).All()[i].Name(), h.name)
		}
	}
}

// judgeEvents checks that each owner got all of their events once, in order.
func (s *simulation) judgeEvents(all *health.Health) {
	if !s.listens || s.world.Faults()[simulate.EventsLost] > 0 {
		return // an owner may have got an event that the log lost
	}
	for _, o := range s.owners {
		if o.deleted {
			continue
		}
		list, err := all.Events(o.id, 0, math.MaxInt32)
		if err != nil {
			s.failed("the events of %s: %v", o.name, err)
		}
		var ids []string
		for _, e := range list {
			ids = append(ids, e.ID)
		}
		if !slices.Equal(ids, o.events) {
			s.failed("%s got the events %v, but should have got %v", o.name, o.events, ids)
		}
	}
}

// judgeHeads checks that each served head of a ladder tree belongs to the final tree.
func (s *simulation) judgeHeads(ctx context.Context, log *signedlog.SignedLog) {
	for _, mode := range ladder.Modes {
		s.judgeHeadsOf(ctx, log, mode)
	}
}

func (s *simulation) judgeHeadsOf(ctx context.Context, log *signedlog.SignedLog, mode string) {
	size, root, err := log.LadderHead(ctx, mode)
	if err != nil {
		s.failed("the head of the ladder tree of %s: %v", mode, err)
		return
	}
	last := signedlog.Head{Size: size, Root: root}
	for _, seen := range s.seen {
		lines := strings.Split(seen.body, "\n")
		if !strings.HasPrefix(seen.path, "/ladder/"+mode+"/") || len(lines) < 3 {
			continue
		}
		served := signedlog.Head{}
		if served.Size, err = strconv.ParseUint(lines[1], 10, 64); err == nil {
			served.Root, err = base64.StdEncoding.DecodeString(lines[2])
		}
		if err == nil && served.Size > size {
			err = fmt.Errorf("it has %d entries, but the tree has %d", served.Size, size)
		}
		if err == nil {
			err = consistent(last, served, func(from, to uint64) ([][]byte, error) { return log.LadderConsistency(ctx, mode, from, to) })
		}
		if err != nil {
			s.failed("the served head %q does not belong to the tree: %v", lines[:3], err)
		}
	}
}

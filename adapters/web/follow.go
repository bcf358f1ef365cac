package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hexarena/domain/ladder"
)

// A page that follows a bot or a ladder shows a running match. After the match has ended,
// static/follow.mjs opens the same address again as soon as the next match is running.

// follow describes what a page follows.
type follow struct {
	Listed string // path of the API that lists the running matches to follow
	Mode   string
	What   string // in a sentence, such as "the next match of Ada"
	Last   *summary
	Kiosk  bool
}

// watchTop follows the best match of a mode.
func (p *pageRequest) watchTop(mode string) error {
	listed := query{"mode": mode, "status": "running", "limit": "200"}
	running := p.matches(listed).Matches
	f := &follow{Listed: listed.after("/matches"), Mode: mode, What: "the next " + mode + " match"}
	if len(running) == 0 {
		return p.awaitMatch(f, query{"mode": mode})
	}
	ranking := p.ranking(mode, "")
	best := slices.MaxFunc(running, func(a, b summary) int { return cmp.Compare(ranking.strength(a), ranking.strength(b)) })
	return p.followMatch(best.ID, f)
}

// strength returns the mean rating of the bots in a match. Bots without a rating count as
// new bots.
func (k *ranking) strength(m summary) float64 {
	sum := 0.0
	for _, player := range m.Players {
		r, _ := k.find(player.BotID)
		sum += r.Rating
	}
	return sum / float64(max(1, len(m.Players)))
}

// botLive follows a bot.
func (p *pageRequest) botLive() error {
	id := p.r.PathValue("id")
	newest := p.matches(query{"bot": id, "limit": "1"}).Matches
	var b Bot
	var err error
	switch {
	case p.err != nil:
		return p.err
	case len(newest) > 0:
		b.Name, b.Mode = playerOf(newest[0], id).BotName, newest[0].Mode
	default:
		if b, err = p.registered(id); err != nil {
			return err
		}
	}
	f := &follow{
		Listed: query{"bot": id, "status": "running", "limit": "1"}.after("/matches"),
		Mode:   b.Mode, What: "the next match of " + clean(b.Name),
	}
	if len(newest) > 0 && newest[0].Status == "running" {
		return p.followMatch(newest[0].ID, f)
	}
	return p.awaitMatch(f, query{"bot": id})
}

func (p *pageRequest) followMatch(id string, f *follow) error {
	p.r.SetPathValue("id", id)
	p.follow = f
	return p.watch()
}

// awaitMatch shows a page that waits for a match. It links to the last one.
func (p *pageRequest) awaitMatch(f *follow, last query) error {
	last["limit"] = "1"
	if list := p.matches(last).Matches; len(list) > 0 {
		f.Last = &list[0]
	}
	f.Kiosk = p.kiosk()
	return p.render(http.StatusOK, "waiting.html", f)
}

// The method kiosk() reports whether the page has no controls, for a screen that nobody
// operates.
func (p *pageRequest) kiosk() bool { return p.r.URL.Query().Get("kiosk") == "1" }

// The methods nextMatch() and previousMatch() redirect to another match of a bot. They look
// for it only when the reader follows the link. So the page of a match does not have to
// read it, and they find matches that began later.
func (p *pageRequest) nextMatch() error {
	bot := p.r.PathValue("bot")
	to, err := p.neighbour("after", bot)
	if err != nil {
		return err
	}
	return p.seeOther(cmp.Or(to, "/bot/"+url.PathEscape(bot)+"/live"))
}

func (p *pageRequest) previousMatch() error {
	to, err := p.neighbour("before", p.r.PathValue("bot"))
	switch {
	case err != nil:
		return err
	case to == "":
		return refused(http.StatusNotFound, "This is the first match of this bot, or the list does not reach further back.")
	}
	return p.seeOther(to)
}

func (p *pageRequest) neighbour(side, bot string) (path string, err error) {
	found := p.matches(query{"bot": bot, side: p.r.PathValue("id"), "limit": "1"}).Matches
	if p.err != nil || len(found) == 0 {
		return "", p.err
	}
	return "/watch/" + url.PathEscape(found[0].ID), nil
}

// ownerData is the data of owner.html.
type ownerData struct {
	Handle  string
	Bots    []ownedRow
	Matches []summary
}

// ownedRow is a bot on a ladder.
type ownedRow struct {
	Mode string
	row
}

const (
	ownerBots    = 10 // bots whose matches the page lists
	ownerMatches = 10
)

// owner shows the public bots of an owner: those on a ladder. Bots that have not played,
// removed bots and the bots of deleted accounts are on no ladder. A handle without bots on
// a ladder gets the same error as an unknown handle.
func (p *pageRequest) owner() error {
	d := ownerData{Handle: p.r.PathValue("handle")}
	for _, mode := range ladder.Modes {
		for _, r := range p.ranking(mode, "").rows {
			if r.Owner == d.Handle && d.Handle != "" {
				d.Bots = append(d.Bots, ownedRow{mode, r})
			}
		}
	}
	switch {
	case p.err != nil:
		return p.err
	case len(d.Bots) == 0:
		return refused(http.StatusNotFound, "No bot on a ladder belongs to an owner with this handle.")
	}
	for _, b := range d.Bots[:min(ownerBots, len(d.Bots))] {
		for _, m := range p.matches(query{"bot": b.BotID, "limit": "10"}).Matches {
			if !slices.ContainsFunc(d.Matches, func(known summary) bool { return known.ID == m.ID }) {
				d.Matches = append(d.Matches, m)
			}
		}
	}
	slices.SortStableFunc(d.Matches, func(a, b summary) int { return strings.Compare(b.StartedAt, a.StartedAt) })
	d.Matches = d.Matches[:min(ownerMatches, len(d.Matches))]
	return p.render(http.StatusOK, "owner.html", d)
}

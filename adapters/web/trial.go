package web

import (
	"net/http"
	"net/url"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

// trialData is the data of trial.html.
type trialData struct {
	Bot   rest.Bot
	Trial rest.Trial
}

// Ended reports whether the trial has ended.
func (d trialData) Ended() bool { return d.Trial.Status == rest.TrialEnded }

// Outcome returns how the trial ended, or "" if it has not ended.
func (d trialData) Outcome() string {
	if d.Trial.Outcome == nil {
		return ""
	}
	return *d.Trial.Outcome
}

// Mark returns "resigned" for the bot's seat if the bot resigned at its third strike.
func (d trialData) Mark(seat int) string {
	if d.Trial.Resigned && seat == *d.Trial.Seat {
		return "resigned"
	}
	return ""
}

// trialPath takes the ids of a trial from the page's path, and returns the trial's path
// in the API.
func (p *pageRequest) trialPath() string {
	return "/bots/" + url.PathEscape(p.r.PathValue("id")) + "/trials/" + url.PathEscape(p.r.PathValue("trial"))
}

// The method trial() shows an owner a trial: its steps while it is played, and then its
// result.
func (p *pageRequest) trial() error {
	var d trialData
	p.read("/bots/"+url.PathEscape(p.r.PathValue("id")), &d.Bot)
	p.read(p.trialPath(), &d.Trial)
	return p.render(http.StatusOK, "trial.html", d)
}

// trialReplay shows the board of a trial. It uses the same template as the page of a
// match.
func (p *pageRequest) trialReplay() error {
	var t rest.Trial
	p.read(p.trialPath(), &t)
	w := watchPage{Path: p.trialPath(), Trial: true}
	w.ID, w.Mode, w.Status, w.Replay = t.ID, t.Mode, "completed", make([]replayed, t.Events)
	if t.StartedAt != nil {
		w.StartedAt = *t.StartedAt
	}
	for _, one := range t.Players {
		w.Players = append(w.Players, player{Seat: one.Seat, BotID: one.BotID, BotName: one.BotName, Placement: one.Placement})
	}
	if p.err == nil && (t.Status != rest.TrialEnded || t.Events == 0) {
		return p.seeOther("/dashboard" + p.trialPath())
	}
	return p.render(http.StatusOK, "watch.html", w)
}

// trialOutcome says in plain words how a trial ended.
func trialOutcome(outcome string) string {
	switch outcome {
	case owner.TrialCompleted:
		return "The game was played to the end."
	case owner.TrialWallClock:
		return "The game was aborted, because its wall clock ran out."
	case owner.TrialOperator:
		return "An operator ended the game."
	case owner.TrialInMatch:
		return "The trial did not start, because the bot was still in a match. Try again after the match."
	case owner.TrialDraining:
		return "The trial did not start, because the operator is stopping the arena. Try again later."
	case owner.TrialExpired:
		return "The arena could not play the trial in time. Try again later."
	}
	return ""
}

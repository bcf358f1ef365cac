package web

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"hexarena/adapters/rest"
)

// ViewerOptions configure a viewer. All fields are required.
type ViewerOptions struct {
	// Records serves the records that the viewer shows. It has these paths:
	// /matches?page=N (rest.LocalMatches), /matches/{id} (rest.LocalMatch),
	// /matches/{id}/frames, /matches/{id}/notes (rest.Notes),
	// /matches/{id}/decisions/{decision} (rest.LocalDecision) and
	// /bots/{bot}/matches/{id}/decisions.
	Records http.Handler
	BaseURL string // the viewer's address, as browsers use it
	Logger  *slog.Logger
}

// NewViewer returns a Server that shows records of ended matches to the only user of a
// machine: a list, and each match with its replay and the decision logs of its seats.
// The Server has no other pages.
func NewViewer(o ViewerOptions) (*Server, error) {
	s, err := newServer(Options{
		API: o.Records, Reads: o.Records, BaseURL: o.BaseURL, Now: time.Now, Logger: o.Logger,
		Count:     func(http.Header, *http.Request, int) int { return 0 },
		CountFile: func(http.Header, *http.Request) int { return 0 },
		Turn:      func(context.Context) (func(), error) { return func() {}, nil },
	})
	if err != nil {
		return nil, err
	}
	s.local = true
	s.registerShared()
	s.handle("/{$}", page{get: (*pageRequest).records, private: true})
	s.handle("/watch/{id}", page{get: (*pageRequest).viewMatch, private: true})
	s.handle("/watch/{id}/decision/{decision}", page{get: (*pageRequest).viewDecision, private: true})
	return s, nil
}

// records lists the records.
func (p *pageRequest) records() error {
	var d rest.LocalMatches
	p.read(query{"page": p.r.URL.Query().Get("page")}.after("/matches"), &d)
	return p.render(http.StatusOK, "records.html", d)
}

// viewMatch shows a record with the template of an arena's match page.
func (p *pageRequest) viewMatch() error {
	var r struct {
		matchRecord
		DecisionLogs []struct {
			Seat int `json:"seat"`
		} `json:"decisionLogs"`
	}
	path := "/matches/" + url.PathEscape(p.r.PathValue("id"))
	p.read(path, &r)
	w := watchPage{matchRecord: r.matchRecord, Path: path, Logged: make([]bool, len(r.Players))}
	for _, log := range r.DecisionLogs {
		if log.Seat >= 0 && log.Seat < len(w.Logged) {
			w.Logged[log.Seat] = true
		}
	}
	return p.render(http.StatusOK, "watch.html", w)
}

// decisionData is the data of decision.html.
type decisionData struct {
	Bot      player
	Match    summary
	Decision rest.LocalDecision
	Note     string
}

// viewDecision shows one decision of a record. The page of the match contains this page
// without its frame (static/view-decision.mjs).
func (p *pageRequest) viewDecision() error {
	var d decisionData
	path := "/matches/" + url.PathEscape(p.r.PathValue("id"))
	p.read(path, &d.Match)
	p.read(path+"/decisions/"+url.PathEscape(p.r.PathValue("decision")), &d.Decision)
	if p.err != nil {
		return p.err
	}
	if d.Decision.Seat >= 0 && d.Decision.Seat < len(d.Match.Players) {
		d.Bot = d.Match.Players[d.Decision.Seat]
	}
	var err error
	if d.Note, err = noteText(d.Decision.Note); err != nil {
		return err
	}
	return p.render(http.StatusOK, "decision.html", d)
}

// noteText returns a note as text: a string as it is, and other JSON with indentation.
func noteText(note json.RawMessage) (string, error) {
	if len(note) == 0 {
		return "", nil
	}
	var text string
	if json.Unmarshal(note, &text) == nil {
		return cleanLines(text), nil
	}
	var b bytes.Buffer
	err := json.Indent(&b, []byte(clean(string(note))), "", "  ")
	return b.String(), err
}

// winners names the bots with the first place.
func winners(m summary) (names []string) {
	for _, p := range m.Players {
		if p.Placement != nil && *p.Placement == 1 {
			names = append(names, p.BotName)
		}
	}
	return names
}

// shortID returns the first part of a match id, for lists.
func shortID(id string) string { return id[:min(len(id), 8)] }

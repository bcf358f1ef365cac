package view

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/cmd/arena/records"
	"hexarena/projections/frames"
)

const (
	pageSize = 50 // records on one page of the list
	maxOpen  = 4  // records in memory
)

// api serves the records to the pages, in the shapes of the arena's REST interface.
type api struct {
	*http.ServeMux

	set   *records.Set
	notes map[string]rest.Notes // by match

	mu        sync.Mutex // guards the fields below
	open      []*opened  // the newest last
	summaries map[string]rest.LocalSummary
}

// opened is a record in memory.
type opened struct {
	*records.Record

	logs      []rest.DecisionLog
	decisions map[int]rest.LocalDecision // without notes
}

func newAPI(set *records.Set) *api {
	a := &api{ServeMux: http.NewServeMux(), set: set, notes: map[string]rest.Notes{}, summaries: map[string]rest.LocalSummary{}}
	a.handle("/matches", a.list)
	a.handle("/matches/{id}", func(r *http.Request) (any, error) {
		return withRecord(a, r, func(o *opened) (any, error) { return json.RawMessage(o.Text), nil })
	})
	a.handle("/matches/{id}/frames", func(r *http.Request) (any, error) {
		return withRecord(a, r, func(o *opened) (any, error) { return framesOf(o, r) })
	})
	a.handle("/matches/{id}/notes", func(r *http.Request) (any, error) { return a.notes[r.PathValue("id")], nil })
	a.handle("/matches/{id}/decisions/{decision}", func(r *http.Request) (any, error) {
		return withRecord(a, r, func(o *opened) (any, error) { return a.decision(o, r.PathValue("decision")) })
	})
	a.handle("/bots/{bot}/matches/{id}/decisions", func(r *http.Request) (any, error) {
		return withRecord(a, r, func(o *opened) (any, error) { return logOf(o, r.PathValue("bot")) })
	})
	a.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, problem.ErrNotFound) })
	return a
}

// handle serves GET of a path.
func (a *api) handle(path string, answer func(*http.Request) (any, error)) {
	a.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		value, err := answer(r)
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_ = json.NewEncoder(w).Encode(value) // fails only if the client is gone
	})
}

// refuse responds with an error. The reader owns the files, so the response contains the
// whole error.
func refuse(w http.ResponseWriter, err error) {
	p := rest.Problem{Status: http.StatusUnprocessableEntity, Code: "unreadable", Detail: err.Error()}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, problem.ErrNotFound) {
		p.Status, p.Code = http.StatusNotFound, "not_found"
	}
	problem.Write(w, p)
}

func (a *api) list(r *http.Request) (any, error) {
	pages := max((len(a.set.IDs)+pageSize-1)/pageSize, 1)
	page, _ := strconv.Atoi(r.URL.Query().Get("page")) // any other text means the first page
	page = min(max(page, 1), pages)
	l := rest.LocalMatches{Name: a.set.Name, Total: len(a.set.IDs), Page: page, Pages: pages}
	for _, id := range a.set.IDs[(page-1)*pageSize : min(page*pageSize, len(a.set.IDs))] {
		s, err := a.summary(id)
		if err != nil { // the other records can be shown
			s = rest.LocalSummary{MatchSummary: rest.MatchSummary{ID: id}, Error: err.Error()}
		}
		l.Matches = append(l.Matches, s)
	}
	return l, nil
}

func (a *api) summary(id string) (rest.LocalSummary, error) {
	a.mu.Lock()
	s, known := a.summaries[id]
	a.mu.Unlock()
	if known {
		return s, nil
	}
	s, err := a.set.Summary(id)
	if err == nil {
		a.mu.Lock()
		a.summaries[id] = s
		a.mu.Unlock()
	}
	return s, err
}

// withRecord calls use with the record that a request names. The record does not change.
func withRecord(a *api, r *http.Request, use func(*opened) (any, error)) (any, error) {
	o, err := a.record(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return use(o)
}

// record returns a record, from memory if it was used recently.
func (a *api) record(id string) (*opened, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.IndexFunc(a.open, func(o *opened) bool { return o.Match.ID == id }); i >= 0 {
		o := a.open[i]
		a.open = append(slices.Delete(a.open, i, i+1), o)
		return o, nil
	}
	read, err := a.set.Read(id)
	if err != nil {
		return nil, err
	}
	logs, err := read.DecisionLogs()
	if err != nil {
		return nil, err
	}
	o := &opened{read, logs, decisionsOf(logs)}
	a.open = append(a.open, o)
	if len(a.open) > maxOpen {
		a.open = slices.Delete(a.open, 0, 1)
	}
	return o, nil
}

// decisionsOf returns the decisions of all seats by id.
func decisionsOf(logs []rest.DecisionLog) map[int]rest.LocalDecision {
	all := map[int]rest.LocalDecision{}
	for _, log := range logs {
		for i, d := range log.Decisions.Decisions {
			one := rest.LocalDecision{Decision: d, Seat: log.Seat}
			if i > 0 {
				one.Previous = log.Decisions.Decisions[i-1].Seq
			}
			if i+1 < len(log.Decisions.Decisions) {
				one.Next = log.Decisions.Decisions[i+1].Seq
			}
			all[d.ID] = one
		}
	}
	return all
}

func (a *api) decision(o *opened, text string) (any, error) {
	id, err := strconv.Atoi(text)
	d, known := o.decisions[id]
	if err != nil || !known {
		return nil, problem.ErrNotFound
	}
	d.Note = a.notes[o.Match.ID].Notes[id]
	return d, nil
}

func logOf(o *opened, bot string) (any, error) {
	for _, log := range o.logs {
		if log.BotID == bot {
			return log.Decisions, nil
		}
	}
	return nil, problem.ErrNotFound
}

// framesOf returns the frames that a request selects, with the parameters of the arena's
// REST interface.
func framesOf(o *opened, r *http.Request) (any, error) {
	q := r.URL.Query()
	var w frames.Window
	for name, into := range map[string]*int{"after": &w.After, "limit": &w.Limit} {
		if text := q.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return nil, errors.New(name + " must be a number")
			}
			*into = n
		}
	}
	seat := q.Get("seat")
	if n, err := strconv.Atoi(seat); seat != "" && seat != "all" && (err != nil || n < 0 || n >= len(o.Match.Players) || seat != strconv.Itoa(n)) {
		return nil, errors.New("seat must be all, or the number of a player's seat")
	}
	return rest.NewFrames(o.Match.ID, &o.History, o.History.FramesOf(seat, true, w)), nil
}

package api

import (
	"slices"
	"sync"
	"time"

	"hexarena/projections/frames"
)

// maxFolded is the number of running matches of which the API keeps the last read.
const maxFolded = 32

// folded keeps the last read of the streams of running matches, for requests that arrive
// while the log is unavailable. It is safe for concurrent use.
type folded struct {
	mu   sync.Mutex
	list []foldedMatch // the oldest read first
}

type foldedMatch struct {
	id      string
	history frames.History
	at      time.Time
}

func (f *folded) keep(id string, h frames.History) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(m foldedMatch) bool { return m.id == id })
	if len(f.list) == maxFolded {
		f.list = slices.Delete(f.list, 0, 1)
	}
	f.list = append(f.list, foldedMatch{id, h, time.Now()})
}

func (f *folded) find(id string) (h frames.History, at time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.list, func(m foldedMatch) bool { return m.id == id })
	if i < 0 {
		return h, at, false
	}
	return f.list[i].history, f.list[i].at, true
}

func (f *folded) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
}

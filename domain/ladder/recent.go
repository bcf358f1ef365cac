package ladder

// recentMatches is how many finished matches a ladder remembers by id.
const recentMatches = 10_000

// The type recent remembers the latest finished matches, so that a ladder can
// distinguish finished matches from matches that it never seated. It holds a limited
// number of ids, so that a ladder's memory does not grow forever.
type recent struct {
	known map[string]bool
	ids   []string // oldest first
}

func (r *recent) has(id string) bool { return r != nil && r.known[id] }

func (r *recent) add(id string) {
	if r.known[id] {
		return
	}
	r.known[id] = true
	r.ids = append(r.ids, id)
	if len(r.ids) > recentMatches {
		delete(r.known, r.ids[0])
		r.ids = r.ids[1:]
	}
}

// list returns a copy of the ids, oldest first.
func (r *recent) list() []string {
	if r == nil {
		return nil
	}
	return append([]string{}, r.ids...)
}

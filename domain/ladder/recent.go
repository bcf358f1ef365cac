package ladder

// recentMatches is how many finished matches a ladder remembers by id.
const recentMatches = 10_000

// recent remembers the latest finished matches, so that a ladder can tell apart a
// match that already finished and one that it never seated. It is bounded, because
// the memory of a ladder must not grow with its age.
type recent struct {
	known map[string]bool
	order *ring
}

type ring struct {
	ids  []string
	next int // once full: the oldest, which is replaced next
}

func newRecent() recent { return recent{known: map[string]bool{}, order: &ring{}} }

func (r recent) has(id string) bool { return r.known[id] }

func (r recent) add(id string) {
	if r.known[id] {
		return
	}
	r.known[id] = true
	if len(r.order.ids) < recentMatches {
		r.order.ids = append(r.order.ids, id)
		return
	}
	delete(r.known, r.order.ids[r.order.next])
	r.order.ids[r.order.next] = id
	r.order.next = (r.order.next + 1) % recentMatches
}

// list copies the ids, the oldest first.
func (r recent) list() []string {
	if r.order == nil {
		return nil
	}
	ids := make([]string, 0, len(r.order.ids))
	ids = append(ids, r.order.ids[r.order.next:]...)
	return append(ids, r.order.ids[:r.order.next]...)
}

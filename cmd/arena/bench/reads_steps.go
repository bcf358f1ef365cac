package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// callers is how many addresses call, each over one connection: so few calls
// come from each that no limit is met.
const callers = 600

// readCaller calls from an address of its own.
type readCaller struct{ client http.Client }

func newReadCaller(i int) *readCaller {
	// Limits count the networks of many addresses together: these are spread.
	from := net.IPv4(127, byte(1+i%250), byte(i/250), 7)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	return &readCaller{http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 1}}}
}

// readAnswer is an answer that has been read.
type readAnswer struct {
	status int
	etag   string
	bytes  int64
}

// get makes a call and reads its answer.
func (c *readCaller) get(ctx context.Context, url string, header http.Header) (readAnswer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return readAnswer{}, err
	}
	r.Header = header.Clone()
	response, err := c.client.Do(r)
	if err != nil {
		return readAnswer{}, err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	return readAnswer{response.StatusCode, response.Header.Get("ETag"), n}, err
}

// readStep is what is called, and how often.
type readStep struct {
	what   string
	rate   float64
	target func(rng *rand.Rand) string
	header http.Header
	etag   bool // the caller sends that of the answer before
}

func (b *readsBench) steps() []readStep {
	packed := http.Header{"Accept-Encoding": {"gzip"}}
	fixed := func(path string) func(*rand.Rand) string { return func(*rand.Rand) string { return path } }
	return []readStep{
		{"GET /matches", 300, fixed("/matches"), packed, false},
		{"GET /matches, all kinds of pages", 300, b.somePage, packed, false},
		{"GET /leaderboard, If-None-Match", 1000, fixed("/leaderboard"), packed, true},
		{"GET /leaderboard, whole", 100, fixed("/leaderboard"), packed, false},
		{fmt.Sprintf("GET /matches/{id}, %d events", b.long.state.Seq), 50, fixed("/matches/" + b.long.id), packed, false},
	}
}

// somePage is a page as people and programs ask for it: half of them the first,
// others of a mode, a status or a bot, or from anywhere within reach.
func (b *readsBench) somePage(rng *rand.Rand) string {
	ids := b.history.ids
	reach := min(len(ids), 10_000)
	before := ids[len(ids)-1-rng.IntN(reach)]
	return "/matches" + []string{
		"", "?limit=50", "?mode=standard", "?status=running", "",
		"?before=" + before, "?limit=200&before=" + before, "?status=completed&before=" + before,
		"?bot=" + b.history.bots[rng.IntN(len(b.history.bots))].BotID, "?status=aborted",
	}[rng.IntN(10)]
}

// measure makes each step's calls, while matches end.
func (b *readsBench) measure(ctx context.Context) ([]readReport, error) {
	all := make([]*readCaller, callers)
	for i := range all {
		all[i] = newReadCaller(i)
		defer all[i].client.CloseIdleConnections()
	}
	if err := inParallel(ctx, historyWriters, callers, func(ctx context.Context, i int) error {
		_, err := all[i].get(ctx, b.arena.url+"/health", nil)
		return err
	}); err != nil {
		return nil, err
	}
	var reports []readReport
	for _, s := range b.steps() {
		r, err := b.step(ctx, all, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.what, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// step calls at the step's rate. A call that is late is measured from when it
// was due.
func (b *readsBench) step(ctx context.Context, all []*readCaller, s readStep) (r readReport, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	targets := b.targets(s)
	go func() { ended <- b.goOn(ctx) }()
	var mu sync.Mutex
	var took []time.Duration
	var bytes, fresh int64
	var etag atomic.Value
	etag.Store("")
	each := time.Duration(float64(time.Second) / s.rate)
	begun := time.Now()
	err = inParallel(ctx, callers, len(targets), func(ctx context.Context, i int) error {
		due := begun.Add(time.Duration(i) * each)
		if !sleepUntil(ctx, due) {
			return ctx.Err()
		}
		header := s.header.Clone()
		if tag := etag.Load().(string); s.etag && tag != "" {
			header.Set("If-None-Match", tag)
		}
		answer, err := all[i%callers].get(ctx, b.arena.url+targets[i], header)
		if err != nil {
			return err
		}
		if answer.status != http.StatusOK && answer.status != http.StatusNotModified {
			return fmt.Errorf("%s is answered with %d", targets[i], answer.status)
		}
		etag.Store(answer.etag)
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(due))
		bytes += answer.bytes
		if answer.status == http.StatusOK {
			fresh++
		}
		return nil
	})
	cancel()
	if err := errors.Join(err, <-ended); err != nil {
		return r, err
	}
	slices.Sort(took)
	n := len(took)
	return readReport{
		What: s.what, PerSecond: float64(n) / time.Since(begun).Seconds(), P50Ms: quantileMs(took, 0.5), P99Ms: quantileMs(took, 0.99), MaxMs: quantileMs(took, 1),
		Bytes: int(bytes) / n, Fresh: float64(fresh) / float64(n),
	}, nil
}

// targets are chosen before matches continue.
func (b *readsBench) targets(s readStep) []string {
	rng := rand.New(rand.NewPCG(7, 7))
	list := make([]string, max(1, int(s.rate*b.flags.Seconds)))
	for i := range list {
		list[i] = s.target(rng)
	}
	return list
}

// goOn has matches seated, played and rated until ctx ends.
func (b *readsBench) goOn(ctx context.Context) error {
	if b.flags.Ending == 0 {
		return nil
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / b.flags.Ending))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := b.history.tick(context.WithoutCancel(ctx), 1); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// playOut plays a match to its end, and has it rated.
func (g *loggedGame) playOut(ctx context.Context, log eventstore.Log) error {
	for !g.state.Over() {
		events, err := g.decide()
		if err != nil {
			return err
		}
		g.fold(events)
		if err := g.store(ctx, log, events); err != nil {
			return err
		}
	}
	rated := ladder.RatingsChanged{MatchID: g.id}
	for seat, s := range g.state.Started.Seats {
		rated.Seats = append(rated.Seats, ladder.RatedSeat{BotID: s.BotID, Placement: g.state.End.Placements[seat]})
	}
	return appendEvents(ctx, log, ladder.Stream(g.state.Started.Mode), time.Now(), []ladder.Event{rated})
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"hexarena/eventstore"
)

// callers is the number of addresses that make calls, each with one connection.
// Each address makes so few calls that no rate limit rejects them.
const callers = 600

// readStep describes one kind of call and its rate.
type readStep struct {
	what string
	rate float64
	path func(rng *rand.Rand) string
	etag bool // whether the caller sends the ETag of the previous response
}

func (b *readsBench) steps() []readStep {
	fixed := func(path string) func(*rand.Rand) string { return func(*rand.Rand) string { return path } }
	return []readStep{
		{"GET /matches", 300, fixed("/matches"), false},
		{"GET /matches, all kinds of pages", 300, b.somePage, false},
		{"GET /matches?mode=", 300, b.selected("/matches", "?mode=standard"), false},
		{"GET /matches?status=", 300, b.selected("/matches", "?status=completed"), false},
		{"GET /matches?bot=", 300, b.selected("/matches", "?bot=BOT"), false},
		{"GET /matches?bot=&rival=", 300, b.selected("/matches", "?bot=BOT&rival=RIVAL"), false},
		{"GET /matches?from=&to=", 300, b.selected("/matches", "?from=DAY&to=DAY"), false},
		{"GET /matches, all filters", 300, b.selected("/matches", "?mode=standard&status=completed&bot=BOT&rival=RIVAL&from=DAY&to=DAY"), false},
		{"GET /games (page)", 300, fixed("/games"), false},
		{"GET /games?mode= (page)", 300, b.selected("/games", "?mode=standard"), false},
		{"GET /games?status= (page)", 300, b.selected("/games", "?status=completed"), false},
		{"GET /games?bot= (page)", 300, b.selected("/games", "?bot=BOT"), false},
		{"GET /games?bot=&rival= (page)", 300, b.selected("/games", "?bot=BOT&rival=RIVAL"), false},
		{"GET /games?from=&to= (page)", 300, b.selected("/games", "?from=DAY&to=DAY"), false},
		{"GET /leaderboard, If-None-Match", 1000, fixed("/leaderboard"), true},
		{"GET /leaderboard, whole", 100, fixed("/leaderboard"), false},
		{fmt.Sprintf("GET /matches/{id}, %d events", b.long.state.Seq), 50, fixed("/matches/" + b.long.id()), false},
	}
}

// somePage returns the path of a random page of the match list. The mix resembles the
// requests of people and programs: two in ten ask for the first page. The others select
// a mode, a status or a bot, start at a recent match, or set a limit.
func (b *readsBench) somePage(rng *rand.Rand) string {
	ids := b.history.ids
	before := ids[len(ids)-1-rng.IntN(min(len(ids), 10_000))]
	return "/matches" + []string{
		"", "?limit=50", "?mode=standard", "?status=running", "",
		"?before=" + before, "?limit=200&before=" + before, "?status=completed&before=" + before,
		"?bot=" + b.history.bots[rng.IntN(len(b.history.bots))].BotID, "?status=aborted",
	}[rng.IntN(10)]
}

// The method selected() returns paths with a random selection of matches: BOT and RIVAL are
// bots that have played against each other, and DAY is a day of the history.
func (b *readsBench) selected(path, query string) func(*rand.Rand) string {
	return func(rng *rand.Rand) string {
		bots := b.history.bots
		first := rng.IntN(len(bots))
		day := time.Now().AddDate(0, 0, -rng.IntN(historyDays))
		return path + strings.NewReplacer(
			"BOT", bots[first].BotID, "RIVAL", bots[(first+1+rng.IntN(3))%len(bots)].BotID, "DAY", day.UTC().Format(time.DateOnly),
		).Replace(query)
	}
}

// measure makes the calls of each step. During the calls, matches are played and rated.
func (b *readsBench) measure(ctx context.Context, a *arena, r *sizeReport) (err error) {
	b.history.log = a.log
	r.StartS, r.LongMatch = a.startSeconds, b.long.state.Seq
	all := make([]*http.Client, callers)
	for i := range all {
		// Rate limits also apply to a whole network, so the callers are spread
		// over many networks.
		all[i] = newCaller(byte(1+i%250), byte(i/250), 7)
		defer all[i].CloseIdleConnections()
	}
	if err := inParallel(ctx, historyWriters, callers, func(ctx context.Context, i int) error {
		_, err := get(ctx, all[i], a.url+"/health", nil)
		return err
	}); err != nil {
		return err
	}
	for _, s := range b.steps() {
		step, err := b.step(ctx, a, all, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		r.Steps = append(r.Steps, step)
	}
	r.MemoryMB, err = residentMB(a.pid)
	return err
}

// step makes the calls of a step. During the calls, matches are played and rated.
func (b *readsBench) step(ctx context.Context, a *arena, all []*http.Client, s readStep) (readReport, error) {
	urls := b.urls(a, s) // choose the paths before more matches are written
	ending, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- b.endMatches(ending) }()
	r, err := s.call(ctx, all, urls)
	stop()
	return r, errors.Join(err, <-ended)
}

func (b *readsBench) urls(a *arena, s readStep) []string {
	rng := rand.New(rand.NewPCG(7, 7))
	urls := make([]string, max(1, int(s.rate*b.flags.Seconds)))
	for i := range urls {
		urls[i] = a.url + s.path(rng)
	}
	return urls
}

// call requests the URLs one after another at the step's rate. If a call starts late,
// its latency includes the delay.
func (s readStep) call(ctx context.Context, all []*http.Client, urls []string) (readReport, error) {
	took := make([]time.Duration, len(urls))
	var bytes, fresh atomic.Int64
	var etag atomic.Pointer[string]
	begun := time.Now()
	err := inParallel(ctx, len(all), len(urls), func(ctx context.Context, i int) error {
		due := begun.Add(time.Duration(float64(i) / s.rate * float64(time.Second)))
		if err := eventstore.Sleep(ctx, time.Until(due)); err != nil {
			return err
		}
		header := http.Header{"Accept-Encoding": {"gzip"}}
		if last := etag.Load(); s.etag && last != nil {
			header.Set("If-None-Match", *last)
		}
		got, err := get(ctx, all[i%len(all)], urls[i], header)
		switch {
		case err != nil:
			return err
		case got.status == http.StatusOK:
			fresh.Add(1)
		case got.status != http.StatusNotModified:
			return fmt.Errorf("%s returned status %d", urls[i], got.status)
		}
		etag.Store(&got.etag)
		bytes.Add(int64(len(got.body)))
		took[i] = time.Since(due)
		return nil
	})
	n := len(urls)
	return readReport{
		What: s.what, PerSecond: perSecond(n, time.Since(begun)), latency: latencyOf(took),
		Bytes: int(bytes.Load()) / n, Fresh: float64(fresh.Load()) / float64(n),
	}, err
}

// endMatches seats, plays and rates matches until ctx ends.
func (b *readsBench) endMatches(ctx context.Context) error {
	if b.flags.Ending == 0 {
		return nil
	}
	each := time.Duration(float64(time.Second) / b.flags.Ending)
	for next := time.Now().Add(each); eventstore.Sleep(ctx, time.Until(next)) == nil; next = next.Add(each) {
		if err := b.history.tick(context.WithoutCancel(ctx), 1); err != nil {
			return err
		}
	}
	return nil
}

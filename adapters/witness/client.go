package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/torchwood"
)

// Trees reads the ladder trees.
type Trees interface {
	// SignedHead returns the newest head of a mode's tree, with the arena's signature
	// but without cosignatures.
	SignedHead(mode string) ([]byte, error)
	// Consistency returns the hashes of the consistency proof (RFC 6962) between two
	// sizes of the tree. The sizes must satisfy 0 < from < to.
	Consistency(ctx context.Context, mode string, from, to uint64) ([][]byte, error)
}

// Options configure a Client. All fields are required, except that Witnesses may be
// empty.
type Options struct {
	Witnesses []Witness
	Modes     []string
	Trees     Trees
	Logger    *slog.Logger
}

const (
	pace       = time.Second      // minimum time between the starts of two submissions for a mode
	answerTime = 5 * time.Second  // time limit for the response of one witness
	firstWait  = time.Second      // wait before the first retry; it doubles with each failure
	longWait   = time.Minute      // the longest wait before a retry
	freshTime  = 10 * time.Minute // after this time, the client submits an unchanged head again
)

// Client collects cosignatures. It submits a head to all witnesses of a mode at the
// same time, and waits for all of them before it submits the next head. It could
// instead send each witness the newest head as soon as that witness has responded. But
// then the cosignatures of a busy ladder would be spread over many heads, and no head
// would have a quorum.
//
// A Client is safe for concurrent use. Call Run only once.
type Client struct {
	o     Options
	http  *http.Client
	trees map[string]*tree
}

// New returns a client that has not collected any cosignatures yet.
func New(o Options) *Client {
	c := &Client{o: o, trees: map[string]*tree{}, http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: len(o.Modes), IdleConnTimeout: 2 * longWait,
		},
		// The client does not follow redirects, because a redirected POST could lose
		// its body. The operator can configure the new URL.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, mode := range o.Modes {
		t := &tree{mode: mode, lines: make([]string, len(o.Witnesses)), newest: make([]head, len(o.Witnesses))}
		for place, w := range o.Witnesses {
			t.peers = append(t.peers, &peer{
				Witness: w, place: place, failures: newFailures(),
				logger: o.Logger.With("witness", w.Name(), "mode", mode),
			})
		}
		c.trees[mode] = t
	}
	return c
}

// tree holds the cosignatures for one mode's tree.
type tree struct {
	mode  string
	peers []*peer // the witnesses, in the order of the flags

	mu     sync.Mutex
	head   head     // the head of the latest submission, with only the arena's signature
	lines  []string // the cosignatures of head, one for each witness, in the order of the witnesses; "" if that witness has not signed
	newest []head   // newest[n-1] is the newest head with at least n cosignatures, including these cosignatures
}

// head is a signed head.
type head struct {
	size   uint64
	origin string
	signed []byte // the note
}

// peer is a witness and its state for one tree. During a submission, at most one
// goroutine runs for each peer. That goroutine owns the fields that are not atomic.
type peer struct {
	Witness
	place    int // position in the order of the flags
	logger   *slog.Logger
	size     uint64        // as far as the client knows, the size of the newest head that the witness has cosigned
	cosigned atomic.Uint64 // the size of the newest head whose cosignature the client has verified
	failures failures
	fresh    time.Time     // when the latest cosignature arrived
	wait     time.Duration // wait before the next retry; 0 after a success
	retry    time.Time     // no request before this time
	reported string        // the failure that was logged last, or "" after a success
}

// Run collects cosignatures until ctx ends.
func (c *Client) Run(ctx context.Context) {
	defer c.http.CloseIdleConnections()
	if len(c.o.Witnesses) == 0 {
		return
	}
	var modes sync.WaitGroup
	for _, t := range c.trees {
		modes.Go(func() { c.runTree(ctx, t) })
	}
	modes.Wait()
}

func (c *Client) runTree(ctx context.Context, t *tree) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for ctx.Err() == nil {
		c.submit(ctx, t)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// submit sends the newest head to each witness that has not cosigned it, and waits for
// the responses. If a witness does not respond in time, the next submissions leave that
// witness out, so that it rarely delays the others.
func (c *Client) submit(ctx context.Context, t *tree) {
	h, err := c.newestHead(t.mode)
	if err != nil {
		c.o.Logger.Debug("cannot read the head for the witnesses", "mode", t.mode, "error", err)
		return
	}
	t.begin(h)
	var asked sync.WaitGroup
	for _, p := range t.peers {
		if t.due(p) {
			asked.Go(func() { c.ask(ctx, t, p, h) })
		}
	}
	asked.Wait()
}

func (c *Client) newestHead(mode string) (head, error) {
	signed, err := c.o.Trees.SignedHead(mode)
	if err != nil {
		return head{}, err
	}
	text, err := textOf(signed)
	if err != nil {
		return head{}, err
	}
	parsed, err := torchwood.ParseCheckpoint(text)
	return head{size: uint64(parsed.N), origin: parsed.Origin, signed: signed}, err
}

// textOf returns the text of a note without its signatures.
func textOf(signed []byte) (string, error) {
	text, _, found := bytes.Cut(signed, []byte("\n\n"))
	if !found {
		return "", errors.New("not a signed note")
	}
	return string(text) + "\n", nil
}

// begin starts a submission of a head.
func (t *tree) begin(h head) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !bytes.Equal(t.head.signed, h.signed) {
		t.head, t.lines = h, make([]string, len(t.peers))
	}
}

// The method due() reports whether the client should send the submitted head to a
// witness.
func (t *tree) due(p *peer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	return !now.Before(p.retry) && (t.lines[p.place] == "" || now.Sub(p.fresh) >= freshTime)
}

// ask requests the cosignature of one witness.
func (c *Client) ask(ctx context.Context, t *tree, p *peer, h head) {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	line, err := c.cosignature(limited, t.mode, p, h)
	if ctx.Err() != nil {
		return // the arena is stopping
	}
	if err != nil {
		p.failed(err)
		return
	}
	t.add(p.place, line)
	p.succeeded(h.size)
}

// add stores a cosignature of the submitted head.
func (t *tree) add(place int, line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines[place] = line
	h, count := t.head, 0
	h.signed = slices.Clone(h.signed)
	for _, line := range t.lines {
		if line != "" {
			h.signed = append(h.signed, line...)
			count++
		}
	}
	for n := range count {
		t.newest[n] = h
	}
}

// Cosignatures returns the cosignatures that have arrived for exactly this signed head
// of a mode's tree. The result consists of lines to append to the head. Cosignatures
// never waits.
func (c *Client) Cosignatures(mode string, signed []byte) []byte {
	t := c.trees[mode]
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !bytes.Equal(t.head.signed, signed) {
		return nil
	}
	return []byte(strings.Join(t.lines, ""))
}

// Cosigned returns the newest head of a mode's tree that has at least n cosignatures,
// and its size. n must be at least 1. The caller must not change the head.
func (c *Client) Cosigned(mode string, n int) (size uint64, signed []byte, found bool) {
	t := c.trees[mode]
	if t == nil || n < 1 || n > len(t.peers) {
		return 0, nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.newest[n-1]
	return h.size, h.signed, h.signed != nil
}

// The method failed() records a failure and postpones the next request.
func (p *peer) failed(err error) {
	p.wait = min(max(2*p.wait, firstWait), longWait)
	p.retry = time.Now().Add(p.wait)
	p.failures.count(err)
	if text := err.Error(); text != p.reported { // logs a repeated failure only once
		p.reported = text
		level := slog.LevelWarn
		if errors.Is(err, errInconsistent) {
			level = slog.LevelError
		}
		p.logger.Log(context.Background(), level, "the witness did not cosign the head; retrying", "error", err)
	}
}

// The method succeeded() records a cosignature of a head with the given size.
func (p *peer) succeeded(size uint64) {
	p.size, p.fresh, p.wait = size, time.Now(), 0
	p.cosigned.Store(size)
	if p.reported != "" {
		p.reported = ""
		p.logger.Info(fmt.Sprintf("the witness cosigned the head of size %d", size))
	}
}

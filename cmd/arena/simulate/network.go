package simulate

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"hexarena/adapters/housebot"
	"hexarena/adapters/referee"
	"hexarena/adapters/rest"
	"hexarena/domain/match"
)

// These are the faults of the network to bots that count as faults of the bots. Only
// bots that are not good have them.
const (
	FailedDial  = "failed dial"
	DroppedLine = "dropped line"
)

const (
	leastWire = time.Millisecond // to a bot, in each direction
	mostWire  = 60 * time.Millisecond
	dialTime  = 5 * time.Second
	excuse    = 30 * time.Second // how long after a cut a decision may still time out because of it
)

// Network connects processes to bots. It passes the frames of the arena's protocol,
// without the WebSocket around them. It is safe for concurrent use.
type Network struct {
	world *World

	mu   sync.Mutex // guards the fields below
	bots map[string]*Bot
	open map[*line]struct{}
	dead map[string]bool // processes that were killed
	cuts []*cut

	// Sent is called when a process has sent a request. It may kill the process.
	Sent func(process string)
	// Asked is called when a request arrives at a bot.
	Asked func(bot, match string, frame []byte)
}

// NewNetwork returns a network without bots.
func NewNetwork(w *World) *Network {
	return &Network{world: w, bots: map[string]*Bot{}, open: map[*line]struct{}{}, dead: map[string]bool{}, Sent: func(string) {}, Asked: func(string, string, []byte) {}}
}

// cut is a time during which a process and a bot cannot reach each other.
type cut struct {
	process, bot string // empty: all
	from, until  time.Time
	healed       chan struct{} // closed at the end
}

// Cut separates a process from a bot until heal is called. Frames in both directions
// arrive late, and dials fail. An empty name means all processes or all bots.
func (n *Network) Cut(process, bot string) (heal func()) {
	c := &cut{process: process, bot: bot, from: time.Now(), healed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts = append(n.cuts, c)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		c.until = time.Now()
		close(c.healed)
	}
}

// WasCut reports whether a bot could not reach some process at a time or shortly before
// that. Then a good bot may have missed a deadline.
func (n *Network) WasCut(bot string, at time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.cuts, func(c *cut) bool {
		return (c.bot == "" || c.bot == bot) && !at.Before(c.from) && (c.until.IsZero() || at.Before(c.until.Add(excuse)))
	})
}

// healing returns a channel that is closed when a cut between a process and a bot ends,
// or nil if there is none.
func (n *Network) healing(process, bot string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.cuts {
		if c.until.IsZero() && (c.bot == "" || c.bot == bot) && (c.process == "" || c.process == process) {
			return c.healed
		}
	}
	return nil
}

// pass waits until no cut separates a line's process from its bot. It returns an error if
// the line ends first.
func (l *line) pass(key ...string) error {
	for {
		healed := l.network.healing(l.process, l.bot.Name)
		if healed == nil {
			return nil
		}
		select {
		case <-healed:
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
		if err := l.network.world.Sleep(l.ctx, leastWire, mostWire, append(key, "healed")...); err != nil {
			return err
		}
	}
}

// Add adds a bot under the host of its URL.
func (n *Network) Add(b *Bot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bots[b.Host()] = b
}

func (n *Network) find(rawURL string) *Bot {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bots[u.Host]
}

var errNoConnection = errors.New("could not connect")

// Dialer returns the function with which a process dials bots.
func (n *Network) Dialer(process string) referee.Dial {
	return func(ctx context.Context, rawURL, matchID string, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
		w := n.world
		if err := w.Sleep(ctx, leastWire, 3*mostWire, "dial", process, matchID, u.BotID); err != nil {
			return nil, referee.Accepted{}, err
		}
		b := n.find(rawURL)
		if b == nil || n.healing(process, b.Name) != nil || b.Conduct.Flaky && w.Happens(FailedDial, process, matchID, u.BotID) {
			if err := w.Sleep(ctx, time.Millisecond, dialTime, "failed dial", process, matchID, u.BotID); err != nil {
				return nil, referee.Accepted{}, err
			}
			return nil, referee.Accepted{}, errNoConnection
		}
		player, err := housebot.NewPlayer(b.Conduct.Strategy, w.seed, matchID)
		if err != nil {
			return nil, referee.Accepted{}, err
		}
		l := &line{
			network: n, bot: b, process: process, match: matchID, player: player, receive: receive,
			wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{}),
		}
		l.ctx, l.cut = context.WithCancel(context.Background())
		if !n.add(l) {
			return nil, referee.Accepted{}, errNoConnection
		}
		go l.run()
		return l, referee.Accepted{Nonce: housebot.Nonce([]byte(b.Name), matchID), Version: housebot.Version}, nil
	}
}

// add adds an open line, unless its process is dead.
func (n *Network) add(l *line) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead[l.process] {
		return false
	}
	n.open[l] = struct{}{}
	return true
}

// Kill cuts all lines of a process, and fails its dials from now on.
func (n *Network) Kill(process string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead[process] = true
	for l := range n.open {
		if l.process == process {
			l.cut()
		}
	}
}

// Checker returns the deploy check of a process.
func (n *Network) Checker(process string) Checker { return Checker{n, process} }

// Checker implements api.Checker.
type Checker struct {
	network *Network
	process string
}

// Allowed implements api.Checker: all URLs are allowed.
func (Checker) Allowed(context.Context, string) error { return nil }

// Check implements api.Checker.
func (c Checker) Check(ctx context.Context, botID, rawURL string) iter.Seq[rest.Step] {
	return func(yield func(rest.Step) bool) {
		for _, name := range []string{"resolve", "ping", "upgrade"} {
			began := time.Now()
			err := c.network.world.Sleep(ctx, leastWire, mostWire, "check", name, c.process, botID, rawURL)
			if err == nil && c.network.find(rawURL) == nil {
				err = errNoConnection
			}
			step := rest.Step{Name: name, OK: err == nil, Detail: "ok", ElapsedMs: time.Since(began).Milliseconds()}
			if err != nil {
				step.Detail = err.Error()
			}
			if !yield(step) || err != nil {
				return
			}
		}
	}
}

// line is an open line to a bot.
type line struct {
	network *Network
	bot     *Bot
	process string
	match   string
	player  *housebot.Player
	receive func(frame []byte, cause string)

	ctx    context.Context // ends when the line is cut
	cut    func()
	wake   chan struct{} // receives a value when a request has been sent
	closed chan struct{} // closed by Close
	done   chan struct{} // closed when the bot's goroutine has ended

	mu      sync.Mutex // guards the fields below
	waiting [][]byte
	closing bool
}

var errGone = errors.New("the line is gone")

// Send implements referee.Line.
func (l *line) Send(ctx context.Context, frame []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.ctx.Err() != nil {
		return errGone
	}
	if l.network.world.sprouts(PlantLostRequest, l.process, l.match, l.bot.Name) {
		return nil
	}
	l.mu.Lock()
	l.waiting = append(l.waiting, append([]byte(nil), frame...))
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // the bot has not seen the last signal yet
	}
	l.network.Sent(l.process)
	return nil
}

// Drain implements referee.Line. A frame arrives at the moment at which the referee
// gets it.
func (*line) Drain(context.Context) {}

// Fault implements referee.Line.
func (*line) Fault() *match.Fault { return nil }

// Close implements referee.Line.
func (l *line) Close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.cut()
	<-l.done
}

// run lets the bot answer requests until the line ends.
func (l *line) run() {
	defer close(l.done)
	defer func() {
		l.network.mu.Lock()
		delete(l.network.open, l)
		l.network.mu.Unlock()
	}()
	for {
		frame := l.nextRequest()
		if frame == nil {
			break
		}
		l.network.Asked(l.bot.Name, l.match, frame)
		if !l.answer(frame) {
			break
		}
	}
	l.cut()
	l.deliver(nil, match.CauseDropped)
}

// nextRequest returns the next request, or nil when the line ends.
func (l *line) nextRequest() []byte {
	for {
		l.mu.Lock()
		if len(l.waiting) > 0 {
			frame := l.waiting[0]
			l.waiting = l.waiting[1:]
			l.mu.Unlock()
			return frame
		}
		l.mu.Unlock()
		select {
		case <-l.wake:
		case <-l.ctx.Done():
			return nil
		}
	}
}

func (l *line) deliver(frame []byte, cause string) {
	l.mu.Lock()
	closing := l.closing
	l.mu.Unlock()
	if !closing {
		l.receive(frame, cause)
	}
}

// answer lets the bot answer one request. It reports whether the line continues.
func (l *line) answer(frame []byte) bool {
	w, b := l.network.world, l.bot
	id, good, err := b.decide(l.player, frame)
	if err != nil {
		panic(err) // the arena sends only requests that house bots can read
	}
	key := []string{"bot", b.Name, l.match, strconv.Itoa(id)}
	if w.Sleep(l.ctx, leastWire, mostWire, append(key, "request")...) != nil || l.pass(append(key, "request")...) != nil {
		return false
	}
	if b.Conduct.Flaky && w.Happens(DroppedLine, key...) {
		return false
	}
	for _, s := range b.Conduct.replies(w.DrawNow(key...), id, good) {
		if w.sprouts(PlantLateAnswer, key...) {
			s.after += 6 * time.Second
		}
		at := time.Now().Add(s.after + leastWire + time.Duration(w.DrawNow(append(key, s.why)...).Int64N(int64(mostWire))))
		if w.SleepUntil(l.ctx, at, hash(w.seed, append(key, s.why))) != nil || l.pass(append(key, s.why)...) != nil {
			return false
		}
		if s.why != "" {
			w.Step("bot %s: %s (decision %d of %s)", b.Name, s.why, id, l.match)
		}
		if s.ends {
			return false
		}
		l.deliver(s.frame, s.cause)
	}
	return true
}

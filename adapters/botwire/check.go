package botwire

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// pongLimit is the longest body of a ping, in bytes; the read stops after it.
const pongLimit = 16

// Step is one step of the deploy check.
type Step struct {
	Name       string // resolve, ping or upgrade
	OK         bool
	Detail     string // a coarse sentence for the owner
	Elapsed    time.Duration
	NotAllowed bool // the URL or an address behind it is refused for good
}

// Check probes a bot as a match would (Endpoints on the bot's own server): its
// name resolves, to addresses that are all allowed; GET …/ping answers pong;
// and it accepts a signed upgrade. Each step is yielded as it is done, and ends
// within 5 s; the first that fails is the last one.
func (d *Dialer) Check(ctx context.Context, rawURL string) iter.Seq[Step] {
	probes := []struct {
		name, fine string
		run        func(context.Context, string) error
	}{
		{"resolve", "the host has a usable address", d.resolve},
		{"ping", "GET /ping answered pong", d.ping},
		{"upgrade", "the signed upgrade was accepted", d.probe},
	}
	return func(yield func(Step) bool) {
		for _, p := range probes {
			began := time.Now()
			err := p.run(ctx, rawURL)
			step := Step{Name: p.name, OK: err == nil, Detail: p.fine, Elapsed: time.Since(began)}
			if err != nil {
				step.Detail = err.Error()
				var f *failure
				step.NotAllowed = errors.As(err, &f) && f.NotAllowed()
			}
			if !yield(step) || !step.OK {
				return
			}
		}
	}
}

// resolve judges the URL, and then every address behind its name.
func (d *Dialer) resolve(ctx context.Context, rawURL string) error {
	u, err := d.guard.parse(rawURL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	addrs, err := d.net.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(addrs) == 0 {
		return errResolve
	}
	port, _ := portOf(u)
	for _, addr := range addrs {
		if !d.guard.allows(netip.AddrPortFrom(addr, port)) {
			return errAddress
		}
	}
	return nil
}

// ping asks for /ping, without a signature.
func (d *Dialer) ping(ctx context.Context, rawURL string) error {
	u, err := d.guard.parse(rawURL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, pingURL(u), nil)
	if err != nil {
		return errAnswer
	}
	req.Header.Set("User-Agent", userAgent)
	a := &attempt{dialer: d, ctx: ctx}
	resp, err := a.transport().RoundTrip(req)
	if err != nil {
		return a.failure(err)
	}
	defer resp.Body.Close()
	return isPong(resp)
}

// pingURL appends /ping to the path, with one slash; the query stays.
func pingURL(u *url.URL) string {
	p := *u
	escaped := strings.TrimRight(u.EscapedPath(), "/") + "/ping"
	p.Path = strings.TrimRight(u.Path, "/") + "/ping"
	p.RawPath = escaped
	return p.String()
}

// isPong says whether an answer to a ping is the text pong.
func isPong(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return badStatus(resp.StatusCode, http.StatusOK)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, pongLimit+1))
	if err != nil || len(body) > pongLimit || strings.TrimSpace(string(body)) != "pong" {
		return errPong
	}
	return nil
}

// probe opens a signed socket, and closes it.
func (d *Dialer) probe(ctx context.Context, rawURL string) error {
	line, _, err := d.Dial(ctx, rawURL, deployCheck, "", func([]byte, string) {})
	if err != nil {
		return err
	}
	line.Close()
	return nil
}

package botwire

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"hexarena/adapters/rest"
)

// pongLimit is the maximum length of a ping response, in bytes.
const pongLimit = 16

// Check probes a bot by connecting to it as a match does (docs/protocol.md, "The deploy
// check"). The host name must resolve only to allowed addresses, GET …/ping must return
// pong, and the bot must accept a signed upgrade. Check yields each step when the step
// ends, and stops after the first failed step. A step that takes longer than 5 s fails.
// The detail of a step contains no address and no text from the peer. A step that
// cannot connect always takes 5.1 s to fail. The upgrade names the bot as its
// recipient.
func (d *Dialer) Check(ctx context.Context, botID, rawURL string) iter.Seq[rest.Step] {
	probes := []struct {
		name     string
		connects bool
		run      func(context.Context, *url.URL) (detail string, err error)
	}{
		{"resolve", false, d.resolve},
		{"ping", true, d.ping},
		{"upgrade", true, d.probe(botID)},
	}
	return func(yield func(rest.Step) bool) {
		for _, p := range probes {
			began := time.Now()
			detail, err := d.run(ctx, rawURL, p.run)
			if p.connects && neverConnected(err) {
				d.hideTime(ctx, began)
			}
			step := rest.Step{Name: p.name, OK: err == nil, Detail: detail, ElapsedMs: time.Since(began).Milliseconds()}
			if err != nil {
				step.Detail = err.Error()
			}
			if !yield(step) || !step.OK {
				return
			}
		}
	}
}

// run checks the URL and then runs one probe on it.
func (d *Dialer) run(ctx context.Context, rawURL string, probe func(context.Context, *url.URL) (string, error)) (detail string, err error) {
	u, err := d.guard.parse(rawURL)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	return probe(ctx, u)
}

// hideTime waits so that every step that could not connect takes the same time.
// Otherwise, the duration would reveal whether a port is closed or filtered.
func (d *Dialer) hideTime(ctx context.Context, began time.Time) {
	t := time.NewTimer(time.Until(began.Add(d.unconnected)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// resolve checks each address to which the host resolves.
func (d *Dialer) resolve(ctx context.Context, u *url.URL) (detail string, err error) {
	addrs, err := d.net.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(addrs) == 0 {
		return "", errResolve
	}
	port, _ := portOf(u)
	for _, addr := range addrs {
		if !d.guard.allows(netip.AddrPortFrom(addr, port)) {
			return "", errAddress
		}
	}
	return "the host has a usable address", nil
}

// ping sends an unsigned GET …/ping.
func (d *Dialer) ping(ctx context.Context, u *url.URL) (detail string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, pingURL(u), nil)
	if err != nil {
		return "", errAnswer
	}
	req.Header.Set("User-Agent", userAgent)
	req.Close = true
	resp, err := (&attempt{dialer: d, ctx: ctx}).exchange(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return "GET /ping returned pong", requirePong(resp)
}

// pingURL appends /ping to the URL's path, without doubling the slash. It keeps the
// query.
func pingURL(u *url.URL) string {
	p := *u
	escaped := strings.TrimRight(u.EscapedPath(), "/") + "/ping"
	p.Path = strings.TrimRight(u.Path, "/") + "/ping"
	p.RawPath = escaped
	return p.String()
}

// requirePong returns an error unless the response is the text pong.
func requirePong(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return badStatus(resp.StatusCode, http.StatusOK)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, pongLimit+1))
	if err != nil || len(body) > pongLimit || strings.TrimSpace(string(body)) != "pong" {
		return errPong
	}
	return nil
}

// probe returns a function that opens a signed socket to a bot and closes it. The
// detail says whether the response names a valid version.
func (d *Dialer) probe(botID string) func(context.Context, *url.URL) (string, error) {
	return func(ctx context.Context, u *url.URL) (string, error) {
		line, header, err := d.open(ctx, u.String(), deployCheck, Upgrade{BotID: botID})
		if err != nil {
			return "", err
		}
		d.start(line, deployCheck, func([]byte, string) {})
		line.Close()
		version, valid := versionOf(header)
		switch {
		case !valid:
			return "the signed upgrade was accepted, but the arena ignores the x-arena-version in the response: send it once, with 1 to 40 printable ASCII characters", nil
		case version != "":
			return "the signed upgrade was accepted, and the response names a version", nil
		}
		return "the signed upgrade was accepted", nil
	}
}

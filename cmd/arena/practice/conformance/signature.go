package conformance

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"nhooyr.io/websocket"

	"hexarena/adapters/botwire"
	"hexarena/domain/match"
)

// expired is the age of a timestamp that a bot must reject.
const expired = time.Minute

// signatures opens connections that a bot should reject. The protocol recommends the
// check of signatures and does not demand it, so that a bot that accepts them gets
// advice.
func (r *run) signatures(ctx context.Context) {
	if !r.ready("signature") {
		return
	}
	url, err := r.Address(ctx)
	if err != nil {
		r.down = err.Error()
		return
	}
	otherKey := sha256.Sum256([]byte("hexarena/check-bot/another key"))
	forged := []struct {
		what string
		dial func(context.Context) error
	}{
		{"no signature", func(ctx context.Context) error { return plainDial(ctx, url) }},
		{"the signature of another key", func(ctx context.Context) error {
			return r.forge(ctx, newDialer(ed25519.NewKeyFromSeed(otherKey[:]), time.Now), url)
		}},
		{"a timestamp that is a minute old", func(ctx context.Context) error {
			return r.forge(ctx, newDialer(r.Key, func() time.Time { return time.Now().Add(-expired) }), url)
		}},
		{"the signature for another bot, which forwarded it", func(ctx context.Context) error { return r.forward(ctx, url) }},
	}
	var accepted, others []string
	for _, f := range forged {
		dialing, cancel := context.WithTimeout(ctx, r.Decision)
		err := f.dial(dialing)
		cancel()
		switch {
		case err == nil:
			accepted = append(accepted, f.what)
		case err != errSkipped && !strings.Contains(faultOf(err).Message, "status 401"): //nolint:errorlint // it is never wrapped
			others = append(others, f.what)
		}
	}
	p := r.alive(ctx)
	switch {
	case p != nil:
		r.fail("signature", p)
	case len(accepted) > 0:
		r.report.advise("signature", "the bot accepts connections with "+strings.Join(accepted, "; with ")+". Verify x-arena-signature-v2 (docs/protocol.md, \"Verify the upgrade\"), so that strangers cannot ask your bot for answers")
	case len(others) > 0:
		r.report.advise("signature", "the bot rejects connections with "+strings.Join(others, "; with ")+", but not with the status 401")
	default:
		r.pass("signature")
	}
}

// alive requires that the bot still plays after it has seen bad signatures.
func (r *run) alive(ctx context.Context) *failure {
	for _, p := range chosenPositions().threeSeats[:1] {
		if r.soundKind(p.d.Kind.String()) {
			return r.single(ctx, p, nil)
		}
	}
	return nil
}

// forge opens a connection with a dialer that signs in another way.
func (r *run) forge(ctx context.Context, d *botwire.Dialer, url string) error {
	line, _, err := d.Dial(ctx, url, r.newMatchID(), botwire.Upgrade{BotID: r.BotID, Commitment: strings.Repeat("0", 64)}, func([]byte, string) {})
	if err == nil {
		line.Close()
	}
	return err
}

// plainDial opens a connection without the arena's headers.
func plainDial(ctx context.Context, url string) error {
	ws, resp, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // the library closes it
	switch {
	case err == nil:
		_ = ws.Close(websocket.StatusNormalClosure, "")
		return nil
	case resp != nil:
		return badStatus(resp.Status)
	}
	return err
}

// badStatus is the status with which the bot rejected a connection.
type badStatus string

// Error implements error.
func (s badStatus) Error() string { return "status " + string(s) }

// Fault implements faulty.
func (s badStatus) Fault() match.Fault {
	return match.Fault{Code: match.CodeStatus, Message: s.Error()}
}

var errSkipped = badStatus("not tried")

// forward lets the arena call another bot, which passes everything on to this one.
func (r *run) forward(ctx context.Context, to string) error {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" || u.Port() == "" {
		return errSkipped // the certificate would not fit
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		return err
	}
	defer l.Close()
	bot := u.Host
	r.closing.Go(func() { relay(l, bot) })
	u.Host = l.Addr().String()
	return r.forge(ctx, r.dialer, u.String())
}

// relay passes on the bytes of one connection.
func relay(l net.Listener, host string) {
	in, err := l.Accept()
	if err != nil {
		return
	}
	defer in.Close()
	out, err := net.Dial("tcp", host) //nolint:noctx // the address has just accepted a connection
	if err != nil {
		return
	}
	defer out.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, in)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
	_ = in.Close()
	<-done
}

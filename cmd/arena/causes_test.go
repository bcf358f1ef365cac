package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// cause is one way in which a bot fails every decision.
type cause struct {
	name     string
	sentence string // a regular expression for the sentence that names the cause
	conduct  conduct
	instead  http.HandlerFunc                         // answers the upgrades of matches
	breaks   func(t *testing.T, b *testBot)           // called after the registration
	lateness time.Duration                            // how late each answer is at least
	create   func(t testing.TB, name string) *testBot // if nil, newTestBot
}

// tablesOfCauses lists the causes for each table. At a table, each cause has a bot that
// fails because of it. Bots that use up the time of a decision sit at different tables.
func tablesOfCauses(tlsBot func(testing.TB, string) *testBot, expire func(*testing.T, *testBot)) [][]cause {
	text := func(f func(decision) string) conduct {
		return says(websocket.MessageText, func(d decision) []byte { return []byte(f(d)) })
	}
	return [][]cause{
		{
			{name: "dead process", sentence: "no connection could be made; check that the bot is running", create: newBotAlone, breaks: func(_ *testing.T, b *testBot) { b.server.Close() }},
			{name: "truncated JSON", sentence: "unexpected end of JSON input at byte 6", conduct: text(func(decision) string { return `{"id":` })},
			{name: "no value in JSON", sentence: "invalid character '}' .*at byte 18", conduct: text(func(decision) string { return `{"id":1,"action":}` })},
		}, {
			{name: "wrong port", sentence: "the server sent no usable HTTP response in time", create: newBotAlone, breaks: replaceWithAnotherService},
			{name: "repeated key in JSON", sentence: `the key "id" is given twice`, conduct: text(func(decision) string { return `{"id":1,"id":1,"action":{}}` })},
			{name: "wrong types", sentence: `/action/\S+ must be .*, got the string "14"`, conduct: text(wrongTypes)},
		}, {
			{name: "TLS", sentence: "certificate expired on 20", create: tlsBot, breaks: expire},
			{name: "illegal", sentence: "(settlement|edge|hex) is [0-9]+, not one of 0 to", conduct: text(outOfRange)},
			{name: "oversized", sentence: "the message has more than 65,536 bytes", conduct: says(websocket.MessageText, func(d decision) []byte { return padded(d.answer, 65_537) })},
		}, {
			{name: "401", sentence: "status 401 instead of 101", instead: responds(http.StatusUnauthorized)},
			{name: "reset", sentence: "the bot reset the connection", conduct: resets},
		},
		{{name: "500", sentence: "status 500 instead of 101", instead: responds(http.StatusInternalServerError)}},
		{{name: "redirect", sentence: "status 302 instead of 101", instead: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusFound) }}},
		{{name: "silent", sentence: "nothing came", conduct: func(context.Context, *websocket.Conn, decision) error { return nil }}},
		{{name: "late by 0.2 s", sentence: "came [0-9,]+ ms late", lateness: 200 * time.Millisecond}},
		{{name: "late by 2 s", sentence: "came [0-9,]+ ms late", lateness: 2 * time.Second}},
	}
}

// replaceWithAnotherService lets a program that does not speak HTTP listen on the bot's
// port.
func replaceWithAnotherService(t *testing.T, b *testBot) {
	address := b.server.Listener.Addr().String()
	b.server.Close()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go serveConnections(listener, func(conn net.Conn) {
		defer conn.Close()
		_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the arena gives up
	})
}

// wrongTypes sends a string where the protocol wants another type.
func wrongTypes(d decision) string {
	action := map[string]string{
		"setup": `{"settlement":"14","road":0}`, "turn": `{"type":"build_road","edge":"14"}`, "bandit": `{"hex":"14"}`,
		"discard": `{"cards":{"ore":"14"}}`, "trade": `{"accept":"14"}`,
	}[d.Kind]
	return fmt.Sprintf(`{"id":%d,"action":%s}`, d.ID, action)
}

// outOfRange names a place that is not on the board. If the decision needs no place, it
// sends the good answer.
func outOfRange(d decision) string {
	action := map[string]string{"setup": `{"settlement":54,"road":0}`, "turn": `{"type":"build_road","edge":72}`, "bandit": `{"hex":19}`}[d.Kind]
	if action == "" {
		return string(d.answer)
	}
	return fmt.Sprintf(`{"id":%d,"action":%s}`, d.ID, action)
}

// lateBot answers each decision late, by at least the given time. It does not measure the
// deadline itself, because the arena's clock stops while the arena is paused.
// Instead, it waits until a bot at the table gets a request of a later batch. The arena
// sends such a request only after the decision has timed out.
type lateBot struct {
	by time.Duration

	mu   sync.Mutex
	owed []*lateAnswer // those whose deadlines have not passed, as far as the bots know
	last *lateAnswer   // the last answer in the newest match
}

// lateAnswer is the answer of a lateBot to a request.
type lateAnswer struct {
	request *match.Request
	overdue chan struct{} // closed when the deadline has passed
	sent    chan struct{} // closed when the answer has been sent or the connection has ended
}

// overdueAt reports whether a request proves that the deadline of the answer has passed. A
// batch has at most one decision for each seat, and their ids are consecutive.
func (a *lateAnswer) overdueAt(r *match.Request) bool {
	return r.MatchID == a.request.MatchID && r.ID >= a.request.ID+game.MaxSeats
}

func (b *lateBot) answer(ctx context.Context, conn *websocket.Conn, d decision) error {
	a := &lateAnswer{request: d.Request, overdue: make(chan struct{}), sent: make(chan struct{})}
	b.note(d.Request)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed = append(b.owed, a)
	if d.number == match.MaxStrikes {
		b.last = a
	}
	go func() {
		defer close(a.sent)
		select {
		case <-a.overdue:
		case <-ctx.Done():
			return
		}
		pause(2 * b.by)                                      // the arena's clock may count less of this time, if the arena is paused meanwhile
		_ = conn.Write(ctx, websocket.MessageText, d.answer) // if it is lost, the log does not show it
	}()
	return nil
}

// note takes note of a request to a bot at the table. It returns the last answer of the
// match if that answer is overdue, and nil otherwise.
func (b *lateBot) note(r *match.Request) *lateAnswer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed = slices.DeleteFunc(b.owed, func(a *lateAnswer) bool {
		if !a.overdueAt(r) {
			return false
		}
		close(a.overdue)
		return true
	})
	if b.last == nil || !b.last.overdueAt(r) {
		return nil
	}
	return b.last
}

// await delays another bot at the table until the late answers have been sent, so that
// the match does not end earlier.
func (b *lateBot) await(r *match.Request) {
	if last := b.note(r); last != nil {
		<-last.sent
	}
}

// certificates holds a valid and an expired certificate of a server.
type certificates struct {
	file           string // file with the certificates to trust, for SSL_CERT_FILE
	valid, expired *tls.Certificate
}

func newCertificates(t *testing.T) *certificates {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	var roots []byte
	issue := func(end time.Time) *tls.Certificate {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(end.Unix()), NotBefore: time.Now().Add(-72 * time.Hour), NotAfter: end,
			IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		require.NoError(t, err)
		roots = append(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
	c := &certificates{file: filepath.Join(t.TempDir(), "roots.pem"), valid: issue(time.Now().Add(24 * time.Hour)), expired: issue(time.Now().Add(-24 * time.Hour))}
	require.NoError(t, os.WriteFile(c.file, roots, 0o600))
	return c
}

// The method bot() starts a bot that fails because of this cause.
func (f *cause) bot(t *testing.T) *testBot {
	create := f.create
	if create == nil {
		create = newTestBot
	}
	b := create(t, f.name)
	b.conduct, b.instead = f.conduct, f.instead
	return b
}

// requireOnly requires that a text names this cause and none of the other causes. Pages
// may begin the sentence with a capital letter.
func (f *cause) requireOnly(t *testing.T, where, text string, all []cause) {
	t.Helper()
	require.Regexp(t, "(?i)"+f.sentence, text, where)
	for _, other := range all {
		if other.sentence != f.sentence {
			require.NotRegexp(t, "(?i)"+other.sentence, text, "%s: the cause of %s", where, other.name)
		}
	}
}

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/hex"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/torchwood"
	"filippo.io/torchwood/bastion"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/tlog"
	_ "modernc.org/sqlite" // litewitness keeps its logs in a SQLite file
)

// litewitnesses runs processes of litewitness, a witness from another project. It
// builds the program from the module in testdata/litewitness.
//
// litewitness cannot report which port the system chose, so the witnesses listen on
// no port. Instead they connect to a bastion (C2SP https-bastion). The bastion
// listens on a port of the test and passes requests to the witnesses.
type litewitnesses struct {
	t       testing.TB
	program string
	bastion string // address that witnesses connect to
	url     string // address that arenas submit heads to
	root    []byte // PEM of the bastion's certificate
}

func newLitewitnesses(t testing.TB) *litewitnesses {
	t.Helper()
	l := &litewitnesses{t: t, program: filepath.Join(t.TempDir(), "litewitness")}
	build := exec.Command("go", "build", "-C", filepath.Join("testdata", "litewitness"), "-o", l.program, "filippo.io/torchwood/cmd/litewitness")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "build litewitness, which needs its modules (`make deps` downloads them): %s", out)
	certificate := l.certify()
	proxy, err := bastion.New(&bastion.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil },
		AllowedBackend: func([sha256.Size]byte) bool { return true },
		Log:            slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	listener := l.listen("tcp", "127.0.0.1:0")
	l.bastion = listener.Addr().String()
	go serveConnections(listener, proxy.HandleBackendConnection)
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

// certify creates the bastion's self-signed certificate.
func (l *litewitnesses) certify() *tls.Certificate {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(l.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(l.t, err)
	l.root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

func (l *litewitnesses) listen(network, address string) net.Listener {
	listener, err := (&net.ListenConfig{}).Listen(l.t.Context(), network, address)
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// serveConnections handles each connection until the listener is closed.
func serveConnections(l net.Listener, handle func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go handle(conn)
	}
}

// litewitness is one witness. Its data survives a restart.
type litewitness struct {
	*litewitnesses
	name     string
	dir      string
	verifier *torchwood.CosignatureVerifier
	key      ssh.PublicKey
	process  *exec.Cmd
	said     bytes.Buffer // output of the process; read it only after the process has ended
}

// start creates a witness and its key, and starts it.
func (l *litewitnesses) start(name string) *litewitness {
	l.t.Helper()
	w := &litewitness{litewitnesses: l, name: name, dir: l.t.TempDir()}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(l.t, err)
	signer, err := torchwood.NewCosignatureSigner(name, private)
	require.NoError(l.t, err)
	w.verifier = signer.Verifier()
	w.key, err = ssh.NewPublicKey(public)
	require.NoError(l.t, err)
	keys := agent.NewKeyring()
	require.NoError(l.t, keys.Add(agent.AddedKey{PrivateKey: &private}))
	go serveConnections(l.listen("unix", filepath.Join(w.dir, "agent")), func(c net.Conn) { _ = agent.ServeAgent(keys, c) })
	require.NoError(l.t, os.WriteFile(filepath.Join(w.dir, "rootCA.pem"), l.root, 0o600))
	l.t.Cleanup(w.end)
	w.restart()
	return w
}

// restart starts the witness, and waits until it serves requests.
func (w *litewitness) restart() {
	w.t.Helper()
	w.process = exec.Command(w.program, "-name", w.name, "-db", "witness.db", "-ssh-agent", "agent",
		"-key", ssh.FingerprintSHA256(w.key), "-bastion", w.bastion, "-testcert")
	w.process.Dir, w.process.Stderr = w.dir, &w.said
	require.NoError(w.t, w.process.Start())
	eventually(w.t, w.name+" serves requests", func() bool {
		res, err := http.Get(w.address())
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// address returns the witness's URL at the bastion.
func (w *litewitness) address() string {
	hash := sha256.Sum256(w.key.(ssh.CryptoPublicKey).CryptoPublicKey().(ed25519.PublicKey))
	return w.url + "/" + hex.EncodeToString(hash[:]) + "/"
}

// flag returns the value of --witness for this witness.
func (w *litewitness) flag() string { return w.verifier.String() + " " + w.address() }

// end stops the process.
func (w *litewitness) end() {
	if w.process == nil {
		return
	}
	_ = w.process.Process.Signal(os.Interrupt)
	_ = w.process.Wait()
	w.process = nil
	if w.t.Failed() {
		w.t.Logf("%s: %s", w.name, last(w.said.String(), 2000))
	}
}

// know makes the witness cosign another log, as `witnessctl add-log` and `witnessctl
// add-key` do. The key is in note format.
func (w *litewitness) know(key string) {
	w.t.Helper()
	origin, _, _ := strings.Cut(key, "+")
	w.database("INSERT INTO log (origin, tree_size, tree_hash) VALUES (?, 0, ?)", origin, tlog.Hash(sha256.Sum256(nil)).String())
	w.database("INSERT INTO key (origin, key) VALUES (?, ?)", origin, key)
}

// database runs a statement on the witness's database.
func (w *litewitness) database(statement string, arguments ...any) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "witness.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, db.Close()) }()
	_, err = db.ExecContext(w.t.Context(), statement, arguments...)
	require.NoError(w.t, err)
}

package botwire

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// tlsGoodbye bounds what a TLS connection may take to say goodbye.
const tlsGoodbye = 100 * time.Millisecond

var (
	errCut   = errors.New("the line was cut")
	errEnded = errors.New("the stream ended")
)

// wire is the byte stream between the connection, TLS undone, and the
// WebSocket library: it lets pass what a bot may send and ends at the first
// frame that it may not. Reads are for one goroutine at a time.
type wire struct {
	stream io.ReadWriteCloser
	conn   *conn
	scan   scanner
	meter  meter

	open   atomic.Bool  // before that a read ends at once: the upgrade is not done
	judged atomic.Int32 // a verdict
}

func newWire(stream io.ReadWriteCloser, c *conn) *wire {
	return &wire{stream: stream, conn: c, meter: newMeter(time.Now())}
}

func (w *wire) verdict() verdict { return verdict(w.judged.Load()) }

// Read implements io.Reader.
func (w *wire) Read(p []byte) (int, error) {
	if !w.open.Load() {
		return 0, io.EOF
	}
	if w.verdict() != vFine {
		return 0, errCut
	}
	n, err := w.stream.Read(p)
	pass, toll, v := w.scan.feed(p[:n])
	if !w.meter.take(toll, time.Now()) {
		pass, v = 0, vFlood
	}
	w.judged.Store(int32(v))
	if pass == 0 && v != vFine {
		return 0, errCut
	}
	if err != nil {
		// Never io.EOF: the library takes that, after a fragment, for the end of
		// the message, and a cut line would have answered.
		err = errEnded
	}
	return pass, err
}

// Write implements io.Writer.
func (w *wire) Write(p []byte) (int, error) { return w.stream.Write(p) }

// Close implements io.Closer. A peer that does not read cannot hold it up.
func (w *wire) Close() error {
	cut := time.AfterFunc(tlsGoodbye, w.conn.cut)
	defer cut.Stop()
	return w.stream.Close()
}

package botwire

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// tlsGoodbye is the time limit for sending the TLS closing alert.
const tlsGoodbye = 100 * time.Millisecond

var (
	errCut   = errors.New("the connection to the bot was cut")
	errEnded = errors.New("the bot closed the connection")
	errReset = errors.New("the bot reset the connection")
)

// wire is the byte stream between the connection (after TLS) and the WebSocket
// library. It passes on valid frames within the budget, and ends the stream at
// the first invalid frame. Only one goroutine at a time may read.
type wire struct {
	stream io.ReadWriteCloser
	conn   *conn
	scan   scanner
	meter  meter

	open   atomic.Bool  // false until the upgrade is complete; reads return io.EOF while it is false
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
	switch {
	case isReset(err):
		err = errReset
	case err != nil:
		// Never return io.EOF. The library would take io.EOF after a fragment for the
		// end of the message, and would deliver an incomplete answer.
		err = errEnded
	}
	return pass, err
}

// Write implements io.Writer.
func (w *wire) Write(p []byte) (int, error) { return w.stream.Write(p) }

// Close implements io.Closer. It does not block, even if the peer does not read.
func (w *wire) Close() error {
	cut := time.AfterFunc(tlsGoodbye, w.conn.cut)
	defer cut.Stop()
	return w.stream.Close()
}

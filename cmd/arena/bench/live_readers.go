package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hexarena/domain/match"
)

// streamsOfOneAddress is how many an arena allows.
const streamsOfOneAddress = 20

// connectAtOnce is how many readers connect at a time: as many as a system's
// queue of connections holds.
const connectAtOnce = 1000

// crowd is readers, spread over matches and addresses.
type crowd struct {
	address string
	readers []*liveReader
	reading sync.WaitGroup
}

// liveReader reads one stream.
type liveReader struct {
	path  string
	from  net.IP
	conn  net.Conn
	lines *bufio.Reader

	latencies []time.Duration
	seq       int
	missed    int
	ended     bool
	err       error
}

func newCrowd(url string, games []*loggedGame, readers int) *crowd {
	c := &crowd{address: strings.TrimPrefix(url, "http://")}
	for i := range readers {
		n := i / streamsOfOneAddress
		c.readers = append(c.readers, &liveReader{
			path: "/live/" + games[i%len(games)].id + "/stream", from: net.IPv4(127, 77, byte(n>>8), byte(n)),
		})
	}
	return c
}

// connect returns once each reader has its first frame; then all read on.
func (c *crowd) connect(ctx context.Context) error {
	err := atOnce(ctx, connectAtOnce, c.readers, func(ctx context.Context, _ int, r *liveReader) error {
		return r.open(ctx, c.address)
	})
	if err != nil {
		c.close()
		return err
	}
	for _, r := range c.readers {
		c.reading.Go(r.read)
	}
	return nil
}

func (c *crowd) close() {
	for _, r := range c.readers {
		if r.conn != nil {
			_ = r.conn.Close()
		}
	}
	c.reading.Wait()
}

// wait returns once all streams have ended.
func (c *crowd) wait() error {
	c.reading.Wait()
	for _, r := range c.readers {
		if r.err != nil {
			return fmt.Errorf("reader of %s: %w", r.path, r.err)
		}
	}
	return nil
}

func (r *liveReader) open(ctx context.Context, address string) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: r.from}}
	var err error
	if r.conn, err = d.DialContext(ctx, "tcp", address); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(r.conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", r.path, address); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(r.conn), nil) //nolint:bodyclose // it is the connection
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", r.path, response.Status)
	}
	r.lines = bufio.NewReaderSize(response.Body, 8<<10)
	for len(r.latencies) == 0 {
		if err := r.line(); err != nil {
			return err
		}
	}
	r.latencies = r.latencies[:0] // the first frame is an old one
	return nil
}

func (r *liveReader) read() {
	for {
		if err := r.line(); err != nil {
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return
		}
	}
}

var (
	idField    = []byte("id: ")
	endField   = []byte("event: end")
	dataField  = []byte(`data: {"seq":`)
	timeMember = []byte(`"at":"`)
)

// line reads one line; of a frame it looks at the beginning alone.
func (r *liveReader) line() error {
	line, err := r.lines.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	switch {
	case bytes.HasPrefix(line, idField):
		seq, err := strconv.Atoi(string(bytes.TrimSpace(line[len(idField):])))
		if err != nil {
			return err
		}
		if r.seq > 0 {
			r.missed += seq - r.seq - 1
		}
		r.seq = seq
	case bytes.HasPrefix(line, dataField):
		return r.sample(line)
	case bytes.HasPrefix(line, endField):
		r.ended = true
	}
	return nil
}

// sample notes how long ago the event of a frame occurred.
func (r *liveReader) sample(line []byte) error {
	now := time.Now()
	at := bytes.Index(line, timeMember)
	if at < 0 || len(line) < at+len(timeMember)+len(match.TimeFormat) {
		return fmt.Errorf("a frame without a time: %.100s", line)
	}
	at += len(timeMember)
	occurred, err := time.Parse(match.TimeFormat, string(line[at:at+len(match.TimeFormat)]))
	r.latencies = append(r.latencies, now.Sub(occurred))
	return err
}

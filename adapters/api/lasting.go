package api

import (
	"bytes"
	"compress/gzip"
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"golang.org/x/sync/singleflight"
)

// lastingCache is what answers are sent with that will never change.
const lastingCache = "public, max-age=31536000, immutable"

// maxLasting is how many bytes of such answers are kept, compressed; one of more
// than an eighth of it is made anew each time.
const maxLasting = 64 << 20

// lasting is an answer that will never change: encoded and compressed once.
type lasting struct {
	etag       string
	compressed []byte
	size       int // as JSON
}

func newLasting(v any) (*lasting, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	var b bytes.Buffer
	compress(&b, encoded)
	return &lasting{etag: etagOf(encoded), compressed: bytes.Clone(b.Bytes()), size: len(encoded)}, nil
}

// plain is the answer as JSON, uncompressed.
func (l *lasting) plain() ([]byte, error) {
	var b bytes.Buffer
	b.Grow(l.size)
	err := l.expand(&b)
	return b.Bytes(), err
}

func (l *lasting) expand(w io.Writer) error {
	z, err := gzip.NewReader(bytes.NewReader(l.compressed))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, z) //nolint:gosec // we compressed it
	return err
}

// write implements prepared.
func (l *lasting) write(c *call, status int) { l.send(c, status, lastingCache) }

// send answers, or with 304 where the caller has it. Cache says for how long it
// may be kept.
func (l *lasting) send(c *call, status int, cache string) {
	w := c.echo.Response()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("ETag", l.etag)
	h.Set("Cache-Control", cache)
	switch compressed := c.compresses(l.size); {
	case holds(c.request.Header, l.etag):
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
	case compressed:
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(l.compressed)))
		w.WriteHeader(status)
		_, _ = w.Write(l.compressed) // who went away needs no answer
	default:
		h.Set("Content-Length", strconv.Itoa(l.size))
		w.WriteHeader(status)
		_ = l.expand(w)
	}
}

// keeper keeps the lasting answers that were asked for last, by what they
// answer. It is safe for concurrent use.
type keeper struct {
	making singleflight.Group

	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // of *kept, the one that was used last first
	bytes int
	max   int // of bytes
}

type kept struct {
	key string
	*lasting
}

func newKeeper(limit int) *keeper {
	return &keeper{byKey: map[string]*list.Element{}, order: list.New(), max: limit}
}

// get returns an answer, made where it is not kept: once for all who ask at the
// same time. What makes it does not end with the caller.
func (k *keeper) get(ctx context.Context, key string, body func(context.Context) (any, error)) (*lasting, error) {
	if l := k.find(key); l != nil {
		return l, nil
	}
	result := k.making.DoChan(key, func() (any, error) {
		if l := k.find(key); l != nil {
			return l, nil // made between the look above and this one
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		defer cancel()
		v, err := body(ctx)
		if err != nil {
			return nil, err
		}
		l, err := newLasting(v)
		if err == nil {
			k.keep(key, l)
		}
		return l, err
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*lasting), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (k *keeper) find(key string) *lasting {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.byKey[key]
	if !ok {
		return nil
	}
	k.order.MoveToFront(e)
	return e.Value.(*kept).lasting
}

func (k *keeper) keep(key string, l *lasting) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.byKey[key]; ok || len(l.compressed) > k.max/8 {
		return
	}
	k.byKey[key] = k.order.PushFront(&kept{key, l})
	k.bytes += len(l.compressed)
	for k.bytes > k.max {
		oldest := k.order.Remove(k.order.Back()).(*kept)
		delete(k.byKey, oldest.key)
		k.bytes -= len(oldest.compressed)
	}
}

// prepared is an answer that is encoded already; it takes the place of an
// output's Body.
type prepared interface {
	write(c *call, status int)
}

// maybePrepared is embedded by outputs whose Body may be encoded already.
type maybePrepared struct{ as prepared }

func (m maybePrepared) prepared() prepared { return m.as }

// encodedJSON is an answer of the moment.
type encodedJSON []byte

// write implements prepared.
func (e encodedJSON) write(c *call, status int) {
	w := c.echo.Response()
	w.Header().Set("Content-Type", "application/json")
	if c.compresses(len(e)) {
		writeCompressed(w, status, e)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(e) // who went away needs no answer
}

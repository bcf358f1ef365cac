package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"

	"hexarena/adapters/client"
	"hexarena/domain/audit"
	"hexarena/eventstore"
)

// matchSource is where the records of matches come from: a file, an arena, or
// the log itself.
type matchSource struct {
	file  string
	id    string         // of the one match, where it is not a file
	arena *client.Client // nil: none is named
	log   eventstore.Log // nil: none is named
	close func() error   // of log
	total int            // records
	ids   []string       // of the records; of a file only where there is a log
	made  []byte         // the record of the one match of a log
}

var (
	bareID    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	matchPath = regexp.MustCompile(`^/(?:matches|watch)/([0-9a-fA-F-]{36})(?:/frames)?/?$`)
)

// source finds out what was named, and opens it.
func (c *verifyCmd) source(ctx context.Context) (*matchSource, error) {
	s := &matchSource{total: 1}
	base := c.Arena
	switch {
	case strings.HasPrefix(c.What, "http://") || strings.HasPrefix(c.What, "https://"):
		u, err := url.Parse(c.What)
		if err != nil {
			return nil, err
		}
		found := matchPath.FindStringSubmatch(u.Path)
		if found == nil {
			return nil, fmt.Errorf("%s is the address of no match: want …/matches/ID or …/watch/ID", c.What)
		}
		base, s.id = u.Scheme+"://"+u.Host, found[1]
	case bareID.MatchString(c.What):
		s.id = c.What
		if c.Arena == "" && c.EventStore == "" {
			p, err := loadProfile()
			if err != nil {
				return nil, err
			}
			base = cmp.Or(p.Arena, standardArena)
		}
	default:
		s.file = c.What
	}
	s.id = strings.ToLower(s.id)
	s.ids = []string{s.id}
	return s, errors.Join(s.openArena(base), s.openLog(ctx, c.EventStore), s.openFile(c.EventStore != ""))
}

func (s *matchSource) openArena(base string) error {
	if base == "" {
		return nil
	}
	var err error
	if s.arena, err = client.New(client.Options{Base: base}); err != nil {
		return fmt.Errorf("--arena: %w", err)
	}
	return nil
}

func (s *matchSource) openLog(ctx context.Context, connection string) error {
	if connection == "" {
		return nil
	}
	log, err := openAnswering(ctx, "--eventstore", connection, newLogger(io.Discard))
	if err != nil {
		return err
	}
	s.log, s.close = log, log.Close
	return nil
}

// done closes what source opened.
func (s *matchSource) done() {
	if s.close != nil {
		_ = s.close() // nothing was written
	}
}

// openFile counts the records of a file, and takes their ids where asked.
func (s *matchSource) openFile(ids bool) error {
	if s.file == "" {
		return nil
	}
	s.total, s.ids = 0, nil
	for text, err := range s.lines() {
		if err != nil {
			return err
		}
		s.total++
		if ids {
			r, err := audit.Parse(text)
			if err != nil {
				return fmt.Errorf("%s, record %d: %w", s.file, s.total, err)
			}
			s.ids = append(s.ids, r.ID)
		}
	}
	if s.total == 0 {
		return fmt.Errorf("%s holds no match", s.file)
	}
	return nil
}

// records yields the records' texts.
func (s *matchSource) records(ctx context.Context) iter.Seq2[[]byte, error] {
	switch {
	case s.file != "":
		return s.lines()
	case s.arena != nil:
		return func(yield func([]byte, error) bool) { yield(s.ask(ctx)) }
	default:
		return func(yield func([]byte, error) bool) { yield(s.made, nil) }
	}
}

func (s *matchSource) ask(ctx context.Context) ([]byte, error) {
	a, err := s.arena.Call(ctx, http.MethodGet, "/matches/"+s.id, nil)
	if err != nil {
		return nil, fmt.Errorf("match %s: %w", s.id, err)
	}
	return a.Body, nil
}

// platformKey asks an arena for its public key.
func platformKey(ctx context.Context, arena *client.Client) (string, error) {
	a, err := arena.Call(ctx, http.MethodGet, "/.well-known/arena.json", nil)
	if err != nil {
		return "", fmt.Errorf("the platform key: %w", err)
	}
	var body struct {
		PublicKey string `json:"publicKey"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil || body.PublicKey == "" {
		return "", errors.New("the arena does not show its platform key")
	}
	return body.PublicKey, nil
}

// maxRecord bounds one record, in bytes.
const maxRecord = 64 << 20

// lines yields the records of a file: one that fills it, or one a line.
func (s *matchSource) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(s.file)
		if err != nil {
			yield(nil, fmt.Errorf("no id, no address, and no file: %w", err))
			return
		}
		defer func() { _ = f.Close() }()
		in := bufio.NewScanner(f)
		in.Buffer(make([]byte, 1<<20), maxRecord)
		for first := true; in.Scan(); {
			line := bytes.TrimSpace(in.Bytes())
			if len(line) == 0 {
				continue
			}
			if first && !json.Valid(line) {
				yield(s.whole())
				return
			}
			first = false
			if !yield(line, nil) {
				return
			}
		}
		if in.Err() != nil {
			yield(nil, fmt.Errorf("%s: %w", s.file, in.Err()))
		}
	}
}

// whole is the one record of a file of many lines.
func (s *matchSource) whole() ([]byte, error) {
	text, err := os.ReadFile(s.file)
	if err == nil && len(text) > maxRecord {
		err = fmt.Errorf("%s is larger than %d bytes", s.file, maxRecord)
	}
	return text, err
}

package verify

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"hexarena/adapters/client"
	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/remote"
	"hexarena/domain/audit"
	"hexarena/eventstore"
)

// matchSource yields the records to verify. If a file is named, it reads all records in
// the file. Otherwise it reads one record, from the arena if one is named, or from the
// log.
type matchSource struct {
	file  string
	id    string         // id of the only match; unused with a file
	arena *client.Client // nil if no arena is named
	facts facts          // of the arena
	log   eventstore.Log // nil if no log is named
	close func()         // closes the log
	total int            // number of records
	ids   []string       // ids of the records; for a file, only if there is a log
	mode  string         // mode of the records, once a record has been read; for a file, only if there is a log
	text  []byte         // JSON of the only record; unused with a file
}

var (
	bareID    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	matchPath = regexp.MustCompile(`^/(?:matches|watch)/([0-9a-fA-F-]{36})(?:/frames)?/?$`)
)

// Locate reads an argument that names a match: the match's id, its address at an arena,
// or a file. For an address, base is the arena's URL. For a file, both results are
// empty.
func Locate(what string) (base, id string, err error) {
	if !strings.HasPrefix(what, "http://") && !strings.HasPrefix(what, "https://") {
		return "", strings.ToLower(bareID.FindString(what)), nil
	}
	u, err := url.Parse(what)
	if err != nil {
		return "", "", err
	}
	found := matchPath.FindStringSubmatch(u.Path)
	if found == nil {
		return "", "", fmt.Errorf("%s is not the address of a match: want …/matches/ID or …/watch/ID", what)
	}
	return u.Scheme + "://" + u.Host, strings.ToLower(found[1]), nil
}

// openSource decides whether the argument is a file, an address or an id. It
// opens everything that the flags name.
func (c *Cmd) openSource(ctx context.Context) (*matchSource, error) {
	s := &matchSource{total: 1, close: func() {}}
	base := c.Arena
	address, id, err := Locate(c.What)
	switch {
	case err != nil:
		return nil, err
	case id == "":
		s.file = c.What
	case address != "":
		base = address
	case c.Arena == "" && c.EventStore == "":
		if base, err = remote.LastArena(); err != nil {
			return nil, err
		}
	}
	s.id = id
	s.ids = []string{s.id}
	if err := cmp.Or(s.openArena(base), s.openFile(c.EventStore != "")); err != nil {
		return s, err
	}
	s.log, s.close, err = openLog(ctx, c.EventStore)
	return s, err
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

// openLog opens the log that --eventstore names. The log is nil without the flag.
// Always call closeLog.
func openLog(ctx context.Context, connection string) (log eventstore.Log, closeLog func(), err error) {
	if connection == "" {
		return nil, func() {}, nil
	}
	opened, err := logs.Open(ctx, "--eventstore", connection, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, func() {}, err
	}
	return opened, func() { _ = opened.Close() }, nil // nothing was written
}

// openFile counts the records in the file. With a log, it also collects the records'
// ids, because each record is compared with the ladder. In that case, all records
// must have the same mode, because only one ladder is recomputed.
func (s *matchSource) openFile(withIDs bool) error {
	if s.file == "" {
		return nil
	}
	s.total, s.ids = 0, nil
	for text, err := range Records(s.file) {
		if err != nil {
			return err
		}
		s.total++
		if !withIDs {
			continue
		}
		r, err := audit.Parse(text)
		switch {
		case err != nil:
			return fmt.Errorf("%s, record %d: %w", s.file, s.total, err)
		case s.mode != "" && r.Mode != s.mode:
			return fmt.Errorf("%s mixes matches of two modes; verify each mode separately", s.file)
		}
		s.mode, s.ids = r.Mode, append(s.ids, r.ID)
	}
	if s.total == 0 {
		return fmt.Errorf("%s contains no matches", s.file)
	}
	return nil
}

// records yields the JSON of each record.
func (s *matchSource) records() iter.Seq2[[]byte, error] {
	if s.file != "" {
		return Records(s.file)
	}
	return func(yield func([]byte, error) bool) { yield(s.text, nil) }
}

// fetch requests the facts about the arena. Unless there is a file, it also
// requests the record.
func (s *matchSource) fetch(ctx context.Context) (err error) {
	if s.facts, err = fetchFacts(ctx, calls{s.arena}); err != nil || s.file != "" {
		return err
	}
	a, err := s.arena.Call(ctx, http.MethodGet, "/matches/"+s.id, nil)
	if err != nil {
		return fmt.Errorf("match %s: %w", s.id, err)
	}
	r, err := audit.Parse(a.Body)
	if err != nil {
		return err
	}
	if r.ID != s.id { // the record belongs to another match, even if it is correct
		return &matchDifference{s.id, &audit.Difference{Check: audit.CheckRecord, Log: "match " + r.ID, Follows: "match " + s.id}}
	}
	s.text, s.mode = a.Body, r.Mode
	return nil
}

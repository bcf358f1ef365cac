package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/verify"
	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

// verifyCmd is `arena bench verify`: it recomputes matches of random and
// mischievous bots on one core, from a file as `arena verify` reads it and from
// parsed records, and a ladder's ratings from its stored events.
type verifyCmd struct {
	Matches int  `default:"600" help:"how many matches to verify"`
	Changes int  `default:"200000" help:"how many rating changes to recompute, at least"`
	JSON    bool `name:"json" help:"print one JSON object"`
}

// verifyReport holds the figures of a run.
type verifyReport struct {
	Matches            int     `json:"matches"`
	EventsPerMatch     float64 `json:"eventsPerMatch"`
	BytesPerMatch      float64 `json:"bytesPerMatch"`
	MatchesPerSecond   float64 `json:"matchesPerSecond"`   // from a file, JSON included
	RecomputePerSecond float64 `json:"recomputePerSecond"` // matches, only the recomputation
	Changes            int     `json:"changes"`            // of ratings, one for each seat
	ChangesPerSecond   float64 `json:"changesPerSecond"`   // from stored events in memory
	// From an embedded node through the client, both on the same core.
	NodeChangesPerSecond float64 `json:"nodeChangesPerSecond"`
}

// Run measures and prints the figures.
func (c verifyCmd) Run(ctx context.Context, k *kong.Kong) error {
	if c.Matches <= 0 || c.Changes <= 0 {
		return errors.New("bench verify: --matches and --changes must be above zero")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var r verifyReport
	if err := errors.Join(r.measureMatches(ctx, c.Matches), r.measureLadder(ctx, c.Changes)); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(r)
	}
	return r.print(k.Stdout)
}

// measureMatches writes matches to a file, and verifies first the file, then its
// parsed records.
func (r *verifyReport) measureMatches(ctx context.Context, matches int) error {
	dir, err := os.MkdirTemp("", "arena-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "matches.jsonl")
	if err := writeSamples(file, matches, r); err != nil {
		return err
	}
	begun := time.Now()
	if err := (&verify.Cmd{What: file}).Run(ctx, &kong.Kong{Stdout: io.Discard, Stderr: io.Discard}); err != nil {
		return err
	}
	r.MatchesPerSecond = float64(r.Matches) / time.Since(begun).Seconds()
	return r.measureRecomputing(file)
}

func writeSamples(file string, matches int, r *verifyReport) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // after an error; otherwise it is closed below
	a := sample.New(sample.Options{Chance: 1, Bots: 160, Mischief: 2, Build: true, Abort: 50})
	bytes := 0
	for r.Matches < matches {
		for _, text := range a.Tick() {
			if r.Matches == matches {
				break
			}
			r.Matches++
			n, err := f.Write(append(text, '\n'))
			if err != nil {
				return err
			}
			bytes += n
		}
	}
	r.BytesPerMatch = float64(bytes) / float64(matches)
	return f.Close()
}

// measureRecomputing parses the records before the clock starts, and recomputes
// them a few times.
func (r *verifyReport) measureRecomputing(file string) error {
	var records []*audit.Record
	events := 0
	for text, err := range verify.Records(file) {
		if err != nil {
			return err
		}
		one, err := audit.Parse(append([]byte(nil), text...))
		if err != nil {
			return err
		}
		records = append(records, one)
		events += one.Events()
	}
	r.EventsPerMatch = float64(events) / float64(len(records))
	runtime.GC()
	const times = 5
	begun := time.Now()
	for range times {
		for _, one := range records {
			if d := audit.Match(one, audit.Evidence{}).Difference; d != nil {
				return d
			}
		}
	}
	r.RecomputePerSecond = float64(times*len(records)) / time.Since(begun).Seconds()
	return nil
}

// measureLadder recomputes a ladder as `arena verify --ladder` does: from a log
// in memory, and from an embedded node, which then works on the same core.
func (r *verifyReport) measureLadder(ctx context.Context, changes int) (err error) {
	if r.Changes, r.ChangesPerSecond, err = recomputeLadder(ctx, memory.New(), changes); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "arena-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	embedded, err := logs.OpenEmbedded(ctx, filepath.Join(dir, "node"))
	if err != nil {
		return err
	}
	_, r.NodeChangesPerSecond, err = recomputeLadder(ctx, embedded.Log, changes)
	return errors.Join(err, embedded.Close())
}

// recomputeLadder stores a ladder in a log, and recomputes it.
func recomputeLadder(ctx context.Context, log eventstore.Log, least int) (changes int, perSecond float64, err error) {
	if err := storeLadder(ctx, log, least); err != nil {
		return 0, 0, err
	}
	runtime.GC()
	begun := time.Now()
	l, err := verify.FoldLadder(ctx, log, io.Discard, ladder.Standard, sample.PlatformKey)
	if err != nil {
		return 0, 0, err
	}
	return l.Totals.Changes, float64(l.Totals.Changes) / time.Since(begun).Seconds(), nil
}

// storeLadder stores tables and ratings of a thousand bots. Their placements are
// random: no game is played.
func storeLadder(ctx context.Context, log eventstore.Log, changes int) error {
	a := sample.NewLadder(1000)
	for stored := 0; stored < changes; stored += 1000 {
		if err := appendEvents(ctx, log, ladder.Stream(ladder.Standard), time.Unix(0, 0), a.Tick()); err != nil {
			return err
		}
	}
	return nil
}

func (r verifyReport) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `verify on one core: %d matches of %.0f events and %.0f KB, %d rating changes
matches/s, from a file  %.0f
matches/s, recomputing  %.0f
rating changes/s        %.0f
  read from a node      %.0f, which also works on that core
`, r.Matches, r.EventsPerMatch, r.BytesPerMatch/1000, r.Changes, r.MatchesPerSecond, r.RecomputePerSecond, r.ChangesPerSecond, r.NodeChangesPerSecond)
	return err
}

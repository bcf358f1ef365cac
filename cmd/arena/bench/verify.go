package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/cmd/arena/verify"
	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

// verifyCmd implements `arena bench verify`. On one core, it recomputes matches
// between random and mischievous bots. It does so twice: from a file, as `arena
// verify` does, and from parsed records. It also recomputes a ladder's ratings from
// the ladder's stored events.
type verifyCmd struct {
	Matches int `default:"600" help:"how many matches to verify"`
	Changes int `default:"200000" help:"minimum number of rating changes to recompute"`
}

type verifyReport struct {
	Matches            int     `json:"matches"`
	EventsPerMatch     float64 `json:"eventsPerMatch"`
	BytesPerMatch      float64 `json:"bytesPerMatch"`
	MatchesPerSecond   float64 `json:"matchesPerSecond"`   // from a file, including the JSON decoding
	RecomputePerSecond float64 `json:"recomputePerSecond"` // only the recomputation
	Changes            int     `json:"changes"`            // rating changes, one for each seat
	ChangesPerSecond   float64 `json:"changesPerSecond"`   // from stored events in memory
	// Rate from an embedded node through the client. The node and the client share
	// the core.
	NodeChangesPerSecond float64 `json:"nodeChangesPerSecond"`
}

func (c verifyCmd) setup() setup { return setup{"verify", "", ""} }

func (c verifyCmd) measure(ctx context.Context, dir string, _ *progress.Display) (report, error) {
	if c.Matches <= 0 || c.Changes <= 0 {
		return nil, errors.New("--matches and --changes must be above zero")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := &verifyReport{Matches: c.Matches}
	return r, inOrder(
		func() error { return r.measureMatches(ctx, filepath.Join(dir, "matches.jsonl")) },
		func() error { return r.measureLadder(ctx, filepath.Join(dir, "node"), c.Changes) },
	)
}

// measureMatches writes matches to a file. It first verifies the file, and then the
// parsed records.
func (r *verifyReport) measureMatches(ctx context.Context, file string) error {
	if err := r.writeSamples(file); err != nil {
		return err
	}
	begun := time.Now()
	if err := (&verify.Cmd{What: file, BeaconChain: "quicknet"}).Run(ctx, &kong.Kong{Stdout: io.Discard, Stderr: io.Discard}); err != nil {
		return err
	}
	r.MatchesPerSecond = perSecond(r.Matches, time.Since(begun))
	return r.measureRecomputing(file)
}

func (r *verifyReport) writeSamples(file string) error {
	a := sample.New(sample.Options{Chance: 1, Bots: 160, Mischief: 2, Build: true, Abort: 50})
	var records [][]byte
	for len(records) < r.Matches {
		records = append(records, a.Tick()...)
	}
	text := bytes.Join(records[:r.Matches], []byte("\n"))
	r.BytesPerMatch = float64(len(text)) / float64(r.Matches)
	return os.WriteFile(file, text, 0o600)
}

// measureRecomputing parses the records once and recomputes them a few times. The
// measured time does not include the parsing.
func (r *verifyReport) measureRecomputing(file string) error {
	var records []*audit.Record
	events := 0
	for text, err := range verify.Records(file) {
		if err != nil {
			return err
		}
		one, err := audit.Parse(bytes.Clone(text))
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
	r.RecomputePerSecond = perSecond(times*len(records), time.Since(begun))
	return nil
}

// measureLadder recomputes a ladder as `arena verify --ladder` does: from a log
// in memory, and from an embedded node on the same core.
func (r *verifyReport) measureLadder(ctx context.Context, dir string, changes int) (err error) {
	if r.Changes, r.ChangesPerSecond, err = recomputeLadder(ctx, memory.New(), changes); err != nil {
		return err
	}
	return withNode(ctx, dir, func(n *logs.Embedded) error {
		_, r.NodeChangesPerSecond, err = recomputeLadder(ctx, n.Log, changes)
		return err
	})
}

// recomputeLadder stores at least the given number of rating changes for a
// thousand bots, and recomputes them. The placements are random; no games are
// played.
func recomputeLadder(ctx context.Context, log eventstore.Log, least int) (changes int, rate float64, err error) {
	a := sample.NewLadder(1000)
	for stored := 0; stored < least; stored += 1000 {
		if err := appendEvents(ctx, log, ladder.Stream(ladder.Standard), time.Unix(0, 0), a.Tick()...); err != nil {
			return 0, 0, err
		}
	}
	runtime.GC()
	begun := time.Now()
	l, err := verify.FoldLadder(ctx, log, io.Discard, ladder.Standard, sample.PlatformKey)
	if err != nil {
		return 0, 0, err
	}
	return l.Totals.Changes, perSecond(l.Totals.Changes, time.Since(begun)), nil
}

func (r *verifyReport) print(w io.Writer) {
	fmt.Fprintf(w, `verify on one core: %d matches of %.0f events and %.0f KB, %d rating changes
matches/s, from a file  %.0f
matches/s, recomputing  %.0f
rating changes/s        %.0f
  read from a node      %.0f, which also works on that core
`, r.Matches, r.EventsPerMatch, r.BytesPerMatch/1000, r.Changes, r.MatchesPerSecond, r.RecomputePerSecond, r.ChangesPerSecond, r.NodeChangesPerSecond)
}

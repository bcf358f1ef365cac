package storage

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hexarena/eventstore/node/disk"
)

// Checked is the result of a check.
type Checked struct {
	Format     string // the log's format version
	Sealed     bool   // whether the node was closed properly, or the log is a backup
	Events     uint64
	Bytes      uint64 // total size of the records
	Streams    uint64 // streams with events, except metadata streams
	Tombstones uint64
	Scavenged  uint64 // streams from which a scavenge has removed events
	Unread     uint64 // malformed metadata events, which the node treats as empty
	Damages    uint64
	Named      []string // descriptions of the first faults found
}

// namedDamages is the maximum number of faults that a check describes.
const namedDamages = 10

func (c *Checked) damage(format string, args ...any) {
	if c.Damages++; len(c.Named) < namedDamages {
		c.Named = append(c.Named, OneLine(fmt.Errorf(format, args...)))
	}
}

// These are the steps of a check.
const (
	stepFiles   = "checking files"
	stepRecords = "reading records"
	stepIndex   = "reading the index"
	stepCompare = "comparing records with the index"
)

// Check reads the whole log of a stopped node. It checks every record, the order of
// positions and revisions, and whether the log and the index agree. A gap is damage
// unless a scavenge left it. Check writes nothing. It reports damage in the result.
// An error means that the folder cannot be read or is in use.
func Check(ctx context.Context, dir string, fs vfs.FS, progress Progress) (found Checked, err error) {
	if fs == nil {
		fs = vfs.Default
	}
	if info, err := fs.Stat(dir); err != nil {
		return Checked{}, err
	} else if !info.IsDir() {
		return Checked{}, fmt.Errorf("%s is not a folder", dir)
	}
	if made, err := holdsLog(fs, dir); err != nil {
		return Checked{}, err
	} else if !made {
		return Checked{}, fmt.Errorf("%w: %s contains no log", ErrWrongFormat, dir)
	}
	if _, missing := fs.Stat(fs.PathJoin(dir, "LOCK")); missing == nil { // a copied folder has no lock file
		lock, failed := lockFolder(fs, dir)
		if failed != nil {
			return Checked{}, failed
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	return checkFolder(ctx, dir, fs, progress)
}

func checkFolder(ctx context.Context, dir string, fs vfs.FS, progress Progress) (found Checked, err error) {
	progress.report(stepFiles, 0, 0)
	if found.Sealed, _, err = disk.CheckSeal(fs, dir); err != nil {
		found.damage("%v", err)
	} else if !found.Sealed {
		if err := disk.CheckLastWAL(fs, dir); err != nil {
			found.damage("%v", err)
		}
	}
	s, err := readStore(dir, fs, slog.New(slog.DiscardHandler))
	switch {
	case found.Damages == 0 && (errors.Is(err, ErrWrongFormat) || errors.Is(err, os.ErrPermission) || errors.Is(err, errNoFormat)):
		return found, fmt.Errorf("%s: %w", dir, err)
	case err != nil:
		found.damage("%v", err)
		return found, nil
	}
	found.Format = s.format()
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	c := &checker{Checked: &found, ctx: ctx, store: s, progress: progress, log: tally{seeds: seeds}, index: tally{seeds: seeds}}
	return found, errors.Join(c.run(), s.DB.Close())
}

// checker checks an open log.
type checker struct {
	*Checked
	ctx      context.Context
	store    *Store
	progress Progress
	kept     LogEnd // the end of the log at the last scavenge; there may be gaps before it
	log      tally
	index    tally
}

// run executes every step, even if an earlier step failed.
func (c *checker) run() error {
	var err error
	if c.kept, _, err = c.store.keptEnd(); err != nil {
		c.damage("%v", err)
	}
	for _, step := range []func() error{c.readLog, c.readIndex, c.readCuts, c.compare, c.readRest} {
		if err := step(); c.ctx.Err() != nil {
			return c.ctx.Err()
		} else if err != nil {
			c.damage("%v", err)
		}
	}
	return nil
}

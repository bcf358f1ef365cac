package projections

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"hexarena/eventstore"
)

// State describes a model's file.
type State struct {
	Position eventstore.Position // the rows include all events up to this position; 0 if there are no rows
	Rebuild  string              // why the next process must fold the rows from scratch; empty if it can continue
	Bytes    int64
}

// Inspect reads the file of a model. No process may have the file open.
func Inspect(ctx context.Context, dir string, log eventstore.Log, model Model) (State, error) {
	var s State
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path(dir, model.Name()) + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist) && suffix == "":
			return State{Rebuild: "it has no rows"}, nil
		case err == nil:
			s.Bytes += info.Size()
		}
	}
	f, err := openFile(dir, model.Name(), model.Schema())
	if unusable(err) {
		s.Rebuild = err.Error()
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Position = f.checkpoint.position
	r := &Runner{log: log, model: model, dir: dir, logger: slog.New(slog.DiscardHandler), file: f}
	s.Rebuild, err = r.mismatch(ctx)
	return s, errors.Join(err, f.close())
}

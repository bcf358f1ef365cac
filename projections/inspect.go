package projections

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"hexarena/eventstore"
)

// State is what a model's file holds.
type State struct {
	Position eventstore.Position // up to where its rows go; 0: it has none
	Anew     string              // why its rows are folded anew at the next start; empty: they are gone on with
	Bytes    int64
}

// Inspect looks at the file of a model that nobody has open.
func Inspect(ctx context.Context, dir string, log eventstore.Log, model Model) (State, error) {
	var s State
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path(dir, model.Name()) + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist) && suffix == "":
			return State{Anew: "there are none"}, nil
		case err == nil:
			s.Bytes += info.Size()
		}
	}
	f, err := openFile(path(dir, model.Name()), model.Name(), model.Schema())
	var unusable *errFile
	switch {
	case errors.As(err, &unusable), damaged(err):
		s.Anew = err.Error()
		return s, nil
	case err != nil:
		return s, err
	}
	s.Position = f.checkpoint.position
	r := &Runner{log: log, model: model, dir: dir, logger: slog.New(slog.DiscardHandler), file: f}
	s.Anew, err = r.contradicts(ctx)
	return s, errors.Join(err, f.close())
}

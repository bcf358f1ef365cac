package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
)

// startCmd implements `arena bench start`. It measures how long an arena takes until it
// answers GET /health: with an empty log, and with many complete matches in the log.
type startCmd struct {
	Matches int    `default:"10000" help:"how many matches the log contains"`
	Starts  int    `default:"5" help:"how often to start each arena; the result is the median"`
	Dir     string `help:"folder for the logs (default: a temporary folder)"`
}

type startReport struct {
	Matches      int     `json:"matches"`
	LogMB        float64 `json:"logMB"`
	EmptySeconds float64 `json:"emptySeconds"` // the first start in a new folder
	FullSeconds  float64 `json:"fullSeconds"`  // with the matches, and all rows
}

func (c startCmd) setup() setup { return setup{"start", c.Dir, "matches"} }

func (c startCmd) measure(ctx context.Context, dir string, p *progress.Display) (report, error) {
	if c.Matches < 1 || c.Starts < 1 {
		return nil, errors.New("--matches and --starts must be above zero")
	}
	r := &startReport{Matches: c.Matches}
	full := filepath.Join(dir, "full")
	return r, inOrder(
		into(&r.EmptySeconds, func() (float64, error) {
			return c.start(ctx, func(i int) string { return filepath.Join(dir, fmt.Sprint("empty-", i)) })
		}),
		func() error { return c.fill(ctx, full, p) },
		into(&r.FullSeconds, func() (float64, error) { return c.start(ctx, func(int) string { return full }) }),
		into(&r.LogMB, func() (float64, error) { return folderMB(filepath.Join(full, "node")) }),
	)
}

// start starts arenas in the given folders, one after another. It returns the median of
// the times until they answered.
func (c startCmd) start(ctx context.Context, dir func(i int) string) (float64, error) {
	took := make([]float64, c.Starts)
	for i := range took {
		if err := withArena(ctx, dir(i), func(a *arena) error {
			took[i] = a.startSeconds
			return nil
		}, "--no-play"); err != nil {
			return 0, err
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// fill plays matches, and waits until the rows of all read models are complete.
func (c startCmd) fill(ctx context.Context, dir string, p *progress.Display) error {
	return withArena(ctx, dir, func(a *arena) error {
		tables := min(c.Matches, playAtOnce)
		if err := playMatches(ctx, a.log, ladder.Standard, tables, c.Matches, p); err != nil {
			return err
		}
		p.Finish()
		return a.await(ctx, "/log/"+ladder.Standard+"/head", nil)
	}, "--no-play")
}

func (r *startReport) print(w io.Writer) {
	fmt.Fprintf(w, "from the start of the process until GET /health answers: %.2f s with an empty log; %.2f s with %d matches in %.0f MB\n",
		r.EmptySeconds, r.FullSeconds, r.Matches, r.LogMB)
}

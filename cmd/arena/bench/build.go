package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hexarena/cmd/arena/progress"
)

// buildCmd implements `arena bench build`. It runs `make build` in the working directory,
// with an empty build cache.
type buildCmd struct{}

type buildReport struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"` // of all processes of the build
	BinaryMB   float64 `json:"binaryMB"`
}

func (buildCmd) setup() setup { return setup{"build", "", ""} }

func (buildCmd) measure(ctx context.Context, dir string, _ *progress.Display) (report, error) {
	binary := filepath.Join(dir, "arena")
	cmd := exec.CommandContext(ctx, "make", "build", "BIN="+binary)
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache"))
	cmd.Stderr = os.Stderr
	r := &buildReport{}
	if err := timed(&r.Seconds, time.Second, cmd.Run)(); err != nil {
		return nil, fmt.Errorf("make build: %w", err)
	}
	r.CPUSeconds = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	file, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	r.BinaryMB = float64(file.Size()) / 1e6
	return r, nil
}

func (r *buildReport) print(w io.Writer) {
	fmt.Fprintf(w, "make build without a cache: %.0f s, %.0f s of CPU time; the binary has %.1f MB\n", r.Seconds, r.CPUSeconds, r.BinaryMB)
}

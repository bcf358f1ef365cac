package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"
)

// logCmd is `arena bench log`: appends and reads through the official client
// to an embedded node on loopback, beside Pebble alone on the same disk.
type logCmd struct {
	Seconds float64 `default:"3" help:"how long each step runs"`
	Dir     string  `help:"folder for the logs that are measured; default: a temporary one"`
	JSON    bool    `name:"json" help:"print one JSON object"`
}

// writersAtOnce are the numbers of streams, and of Pebble's writers.
var writersAtOnce = []int{1, 16, 64}

// eventBytes is the size of an event: its data, and as metadata the rest.
const eventBytes = 300

// logReport is what a run measured.
type logReport struct {
	Streams          []streamsReport `json:"streams"`
	Pebble           []pebbleReport  `json:"pebble"`
	ReadAllPerSecond float64         `json:"readAllPerSecond"`
	SubscribeP99Ms   float64         `json:"subscribeP99Ms"`
}

type streamsReport struct {
	N                int     `json:"n"`
	AppendsPerSecond float64 `json:"appendsPerSecond"`
	P50Ms            float64 `json:"p50Ms"`
	P99Ms            float64 `json:"p99Ms"`
	AppendsPerSync   float64 `json:"appendsPerSync"`
}

type pebbleReport struct {
	N               int     `json:"n"`
	WritesPerSecond float64 `json:"writesPerSecond"`
}

// Run measures as the flags say and prints what it found.
func (c logCmd) Run(ctx context.Context, k *kong.Kong) error {
	if c.Seconds <= 0 {
		return errors.New("bench log: --seconds must be above zero")
	}
	report, err := measureLog(ctx, c.Dir, time.Duration(c.Seconds*float64(time.Second)))
	if err != nil {
		return fmt.Errorf("bench log: %w", err)
	}
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(report)
	}
	return report.print(k.Stdout)
}

// measureLog runs every step for step long. Each number of streams is measured
// next to Pebble with as many writers, so that both meet the same machine.
func measureLog(ctx context.Context, dir string, step time.Duration) (report logReport, err error) {
	b, err := newLogBench(ctx, dir, step)
	if err != nil {
		return logReport{}, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for _, n := range writersAtOnce {
		alone, err := b.pebbleAlone(n)
		if err != nil {
			return logReport{}, err
		}
		streams, err := b.appendAll(ctx, n)
		if err != nil {
			return logReport{}, err
		}
		report.Pebble, report.Streams = append(report.Pebble, alone), append(report.Streams, streams)
	}
	if report.SubscribeP99Ms, err = b.subscribe(ctx); err != nil {
		return logReport{}, err
	}
	report.ReadAllPerSecond, err = b.readAll(ctx)
	return report, err
}

func (r logReport) print(w io.Writer) error {
	for i, s := range r.Streams {
		alone := r.Pebble[i].WritesPerSecond
		_, err := fmt.Fprintf(w, "%2d streams   %8.0f appends/s  p50 %6.2f ms  p99 %6.2f ms  %5.1f appends/sync   Pebble alone %8.0f writes/s, %.1f times as many\n",
			s.N, s.AppendsPerSecond, s.P50Ms, s.P99Ms, s.AppendsPerSync, alone, alone/s.AppendsPerSecond)
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "$all read    %8.0f events/s\nappend → live subscriber p99 %.2f ms\n", r.ReadAllPerSecond, r.SubscribeP99Ms)
	return err
}

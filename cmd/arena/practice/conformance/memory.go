package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	sampleEvery   = 5 // matches
	firstRequests = 8 // requests in each match
	// The least growth from a quarter of the matches to the next that counts as a leak.
	// Runtimes with a garbage collector grow now and then by about 10 MiB at once,
	// without a leak: Node.js was seen to do it once in 500 matches.
	minGrowth = 8 << 20
)

// memory plays the beginnings of many matches, and measures the bot's program.
func (r *run) memory(ctx context.Context) {
	if r.Memory == nil {
		r.report.skip("memory", "it is measured only for cmd: bots, whose programs check-bot starts")
		return
	}
	if _, ok := r.Memory(); !ok {
		r.report.skip("memory", "this system does not tell how much memory the program uses")
		return
	}
	if !r.ready("memory") {
		return
	}
	var samples []uint64
	begun := time.Now()
	n := 0
	for ; n < r.Matches && ctx.Err() == nil && float64(time.Since(begun)) < memoryPart*float64(r.Limit); n++ {
		if f := r.beginning(ctx, memoryGame+n); f != nil && unreachable(f) {
			f.Reason = fmt.Sprintf("after %d short matches: %s", n, f.Reason)
			r.fail("memory", f)
			return
		}
		if bytes, ok := r.Memory(); ok && n%sampleEvery == sampleEvery-1 {
			samples = append(samples, bytes)
		}
	}
	r.judgeMemory(samples, n)
}

// beginning plays the first decisions of a match.
func (r *run) beginning(ctx context.Context, number int) *failure {
	s := r.sit(number, 3+number%2, number%3)
	defer s.close()
	for range firstRequests {
		if _, f := s.next(ctx); f != nil {
			return f
		}
	}
	return nil
}

// judgeMemory compares the quarters of the matches. In the first one, a program still
// grows to its usual size. A program with a leak also grows in each later quarter.
func (r *run) judgeMemory(samples []uint64, n int) {
	if len(samples) < 8 {
		r.report.skip("memory", fmt.Sprintf("only %d matches were possible, because the bot is slow", n))
		return
	}
	quarter := len(samples) / 4
	second, third, fourth := middle(samples[quarter:2*quarter]), middle(samples[2*quarter:3*quarter]), middle(samples[3*quarter:])
	if third < second+minGrowth || fourth < third+minGrowth {
		r.pass("memory")
		return
	}
	each := (fourth - second) * 2 / uint64(n) // the middles of the quarters are half of the matches apart
	r.fail("memory", &failure{Exchange: Exchange{Code: "memory", Reason: fmt.Sprintf(
		"the program used %d MiB after a third of %d short matches, and %d MiB at the end: about %d KiB for each match, although it had ended",
		second>>20, n, fourth>>20, each>>10)}})
}

func middle(samples []uint64) uint64 { return slices.Sorted(slices.Values(samples))[len(samples)/2] }

package membership_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
)

// One process alone plays everything at once. It stores one heartbeat every 5 s, and one
// assignment for each tick that seats tables.
func TestOneProcessPlaysEverything(t *testing.T) {
	withFixture(t, func(f *fixture) {
		f.seat("old")
		began := time.Now()
		a := f.start("a", 10)
		a.seats(1)
		require.Equal(t, []string{"old"}, a.Matches())
		require.True(t, a.mayCallBots())
		require.Equal(t, 2*settleTime, time.Since(began))
		later(time.Second)
		for range 10 {
			a.tick()
		}
		require.Equal(t, 1, f.stored("MatchesAssigned"))
		f.seat("new", "newer")
		a.tick()
		require.Equal(t, []string{"new", "newer", "old"}, a.Matches())
		require.Equal(t, 2, f.stored("MatchesAssigned"))
		require.Equal(t, 7, a.Free("k1"))
		require.Zero(t, a.Free("k2"))
		later(99 * time.Second)
		require.Equal(t, 21, f.stored("MemberSeen"))
		require.Zero(t, a.Handovers())

		n := 0
		for r, err := range f.log.Read(f.t.Context(), "arena-member-a", 0, eventstore.ReadOptions{}) {
			require.NoError(t, err)
			seen, err := arena.DecodeMember(r.Type, r.Data)
			require.NoError(t, err)
			require.Equal(t, 3, seen.(arena.MemberSeen).Running)
			n++
		}
		require.Equal(t, 1, n, "$maxCount is 1")
	})
}

// A new process gets new matches at once, and no match that another process plays.
func TestNewProcessGetsNewMatches(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		a.seats(1)
		f.seat(numbered(4)...)
		a.tick()
		b := f.start("b", 10)
		require.Equal(t, 16, a.Free("k1"))
		require.Empty(t, b.Matches())
		f.seat("x", "y", "z")
		a.tick()
		require.Equal(t, []string{"x", "y", "z"}, b.Matches())
		require.Equal(t, numbered(4), a.Matches())
		f.seat("held back")
		a.tick()
		require.NotContains(t, append(a.Matches(), b.Matches()...), "held back")
	})
}

// A process that cannot start matches gets no new ones, but it keeps those that it has. It
// is the last choice for the matches of a process that dies.
func TestProcessThatCannotStartMatches(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, b := f.start("a", 10), f.start("b", 10)
		a.seats(1)
		f.seat(numbered(4)...)
		a.tick()
		mine := b.Matches()
		require.Len(t, mine, 2)
		b.setMaxMatches(0)
		later(time.Second)
		require.Equal(t, 8, a.Free("k1"))
		f.seat("x", "y", "z")
		a.tick()
		require.Equal(t, mine, b.Matches())
		b.setMaxMatches(10)
		later(time.Second)
		require.Equal(t, 13, a.Free("k1"))
		f.seat("new")
		a.tick()
		require.Contains(t, b.Matches(), "new")

		a.setMaxMatches(0)
		require.Equal(t, 7, a.Free("k1"), "at once")
		a.setMaxMatches(1)
		b.setMaxMatches(0)
		c := f.start("c", 1)
		f.seat("last")
		later(time.Second)
		a.tick()
		require.Equal(t, []string{"last"}, c.Matches())
		c.stop()
		kept := b.Matches()
		later(9 * time.Second)
		require.Contains(t, a.Matches(), "last", "a is full, but can start matches")
		require.Equal(t, kept, b.Matches())
	})
}

// A process dies at any time after its last heartbeat. Its matches go to the others 8 s after
// that heartbeat, and each of them to only one process.
func TestMatchesOfADeadProcessContinue(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, time.Second, 2500 * time.Millisecond, 4999 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			withFixture(t, func(f *fixture) {
				a := f.start("a", 10)
				later(700 * time.Millisecond)
				beat := time.Now().Add(20 * time.Second) // one of b's heartbeats
				b := f.start("b", 10)
				later(1700 * time.Millisecond)
				c := f.start("c", 10)
				a.seats(1)
				f.seat(numbered(12)...)
				a.tick()
				for _, p := range []*process{a, b, c} {
					require.Len(t, p.Matches(), 4)
				}
				later(time.Until(beat.Add(after)))
				b.stop()
				took := f.until(time.Minute, "the matches continue", func() bool { return len(a.Matches())+len(c.Matches()) == 12 })
				require.InDelta(t, (8 * time.Second).Seconds(), (took + after).Seconds(), 0.01)
				require.Len(t, a.Matches(), 6)
				require.EqualValues(t, 4, a.Handovers()+c.Handovers())
				require.NotContains(t, a.lines.String(), `gone" member=c`)
			})
		})
	}
}

// Two processes may disagree for some seconds about who is gone. They must not move matches
// back and forth. Here, one process was cut off from the log, so the other one considers it
// gone until it stores a heartbeat. The other one started after the death of a third process,
// but reads its last heartbeat, because it has matches.
func TestProcessesDisagreeAboutWhoIsGone(t *testing.T) {
	for n := range 8 {
		seats, most := n%2 == 0, []int{0, 1, 2, 10}[n/2]
		t.Run(fmt.Sprintf("seats %t, capacity %d", seats, most), func(t *testing.T) {
			withFixture(t, func(f *fixture) {
				back, dead := f.start("back", most), f.start("dead", most)
				dead.stop()
				later(20 * time.Second)
				other := f.start("other", most)
				later(10 * time.Second)
				if seats {
					back.seats(1)
				}
				back.log.away.Store(true)
				later(20 * time.Second)
				require.Contains(t, back.lines.String(), `gone" member=dead`)
				require.Contains(t, other.lines.String(), `gone" member=back`)

				f.seat("x", "y")
				f.assign(arena.Share{Member: "dead", Matches: []string{"x", "y"}})
				require.Contains(t, other.lines.String(), `here" member=dead`)
				back.log.away.Store(false)
				later(10 * time.Second)
				require.ElementsMatch(t, []string{"x", "y"}, append(back.Matches(), other.Matches()...))
				require.LessOrEqual(t, f.stored("MatchesAssigned"), 3)
			})
		})
	}
}

// A process restarts while it seats, and cannot start matches yet. Its new matches wait until
// it hears another process that can. It has read the heartbeats of those that have matches.
func TestNewMatchesWaitForAMemberThatCanStart(t *testing.T) {
	for name, given := range map[string]arena.Share{ // the matches before
		"it has read nobody":                 {},
		"it has read the process that can":   {Member: "able", Matches: []string{"old"}},
		"it has read a process that is dead": {Member: "dead", Matches: []string{"old"}},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(f *fixture) {
				dead, able := f.start("dead", 10), f.start("able", 10)
				f.seat("x", "y")
				if given.Member != "" {
					f.seat("old")
					f.assign(given)
				}
				dead.stop()
				seater := f.start("seater", 0)
				seater.seats(1)
				require.NotContains(t, append(seater.Matches(), able.Matches()...), "x")
				later(6 * time.Second)
				require.Empty(t, seater.Matches())
				require.Subset(t, able.Matches(), []string{"x", "y"})
			})
		})
	}
}

// Nobody can start matches for a while. New ones wait until a process can, and then begin
// without a tick. The time may be too short for a heartbeat.
func TestNewMatchesWaitWhileNobodyCanStart(t *testing.T) {
	for n, name := range []string{"the process that seats", "another process"} {
		for _, wait := range []time.Duration{0, 10 * time.Second} {
			t.Run(fmt.Sprintf("%s, for %s", name, wait), func(t *testing.T) {
				withFixture(t, func(f *fixture) {
					all := []*process{f.start("a", 10), f.start("b", 10)}
					all[0].seats(1)
					later(9 * time.Second)
					all[0].setMaxMatches(0)
					all[1].setMaxMatches(0)
					later(time.Second)
					f.seat("x", "y")
					all[0].tick()
					later(wait)
					require.Zero(t, f.stored("MatchesAssigned"))
					all[n].setMaxMatches(10)
					later(3 * time.Second)
					require.Equal(t, []string{"x", "y"}, all[n].Matches())
					reads := f.reads.Load()
					later(20 * time.Second)
					require.LessOrEqual(t, f.reads.Load(), reads+1, "nothing waits anymore")
				})
			})
		}
	}
}

// A new match waits. Then a process dies whose only match has ended, so the other one looks
// for matches to move. The new match still begins without a tick.
func TestNewMatchWaitsWhileAnotherProcessDies(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, dies := f.start("a", 0), f.start("dies", 0)
		f.seat("old")
		f.assign(arena.Share{Member: "dies", Matches: []string{"old"}})
		a.seats(2)
		f.end("old")
		f.seat("new")
		a.tick()
		dies.stop()
		later(9 * time.Second)
		require.Len(t, a.List(), 1)
		a.setMaxMatches(10)
		later(2 * time.Second)
		require.Equal(t, []string{"new"}, a.Matches())
	})
}

// Only a process that cannot start matches has the seed key of new ones. They wait until it
// can start them, or until another process has the key.
func TestNewMatchesWaitForASeedKey(t *testing.T) {
	for n, name := range []string{"the process that cannot start matches", "the process without the key"} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(f *fixture) {
				all := []*process{f.start("a", 0), f.start("b", 10)}
				all[1].setKeys("k2")
				all[0].seats(1)
				later(10 * time.Second)
				f.seat("x", "y")
				all[0].tick()
				reads := f.reads.Load()
				later(20 * time.Second)
				require.Zero(t, f.stored("MatchesAssigned"))
				require.Equal(t, reads, f.reads.Load(), "nothing is read while the matches wait")
				require.Equal(t, 1, strings.Count(all[0].lines.String(), "new matches wait"))
				all[n].setMaxMatches(10)
				all[n].setKeys("k1")
				later(3 * time.Second)
				require.Equal(t, []string{"x", "y"}, all[n].Matches())
			})
		})
	}
}

// A process that can start matches does not wait for those that it has only read.
func TestProcessThatCanStartMatchesWaitsForNobody(t *testing.T) {
	withFixture(t, func(f *fixture) {
		dead := f.start("dead", 10)
		f.seat("old")
		f.assign(arena.Share{Member: "dead", Matches: []string{"old"}})
		dead.stop()
		a := f.start("a", 1)
		f.seat("x", "y")
		a.seats(1)
		require.Equal(t, []string{"x", "y"}, a.Matches())
	})
}

// The process that seats dies. The others continue its matches although nobody seats. They
// leave a new match to the next process that seats.
func TestMatchesMoveWhileNobodySeats(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, b, c := f.start("a", 10), f.start("b", 10), f.start("c", 10)
		a.seats(1)
		f.seat(numbered(9)...)
		a.tick()
		f.seat("new")
		a.stop() // before its second heartbeat
		later(8 * time.Second)
		require.Len(t, b.Matches(), 5)
		require.Len(t, c.Matches(), 4)
		require.EqualValues(t, 3, b.Handovers()+c.Handovers())
		require.Equal(t, 2, f.stored("MatchesAssigned"), "only one of them stores the assignments")

		a = f.start("a", 10) // takes part again, but does not seat
		require.Empty(t, a.Matches())
		b.seats(2)
		require.Equal(t, []string{"new"}, a.Matches())
		a.generation = 1
		f.seat("newer")
		require.ErrorIs(t, a.divide(f.t.Context()), arena.ErrNotSeating, "its lease was replaced")
	})
}

// The process that seats is gone when another one leaves. The third one still continues the
// matches of the one that left at once.
func TestMemberLeavesWhileNobodySeats(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, b, c := f.start("a", 10), f.start("b", 10), f.start("c", 10)
		a.seats(1)
		f.seat(numbered(9)...)
		a.tick()
		a.stop()
		b.stop()
		require.NoError(t, b.Leave(f.t.Context()))
		settle()
		left := f.assigned()["a"]
		for _, id := range numbered(9) {
			require.NotEqual(t, slices.Contains(left, id), slices.Contains(c.Matches(), id))
		}
	})
}

func TestProcessThatLeavesHandsOverAtOnce(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, b, c := f.start("a", 10), f.start("b", 10), f.start("c", 10)
		a.seats(1)
		f.seat(numbered(9)...)
		a.tick()
		began := time.Now()
		b.stop()
		require.NoError(t, b.Leave(f.t.Context()))
		require.False(t, b.mayCallBots())
		settle()
		require.Equal(t, settleTime, time.Since(began))
		require.Len(t, append(a.Matches(), c.Matches()...), 9)

		// The process that seats assigns its own matches to the others.
		a.stop()
		require.NoError(t, a.Leave(f.t.Context()))
		require.NoError(t, a.divide(f.t.Context()))
		settle()
		require.Equal(t, numbered(9), c.Matches())
		require.Equal(t, 2*settleTime, time.Since(began))

		// The last process keeps its matches for its next start. Another process may take
		// them at once.
		c.stop()
		require.NoError(t, c.Leave(f.t.Context()))
		c.generation = 2
		require.NoError(t, c.divide(f.t.Context()))
		require.Len(t, f.assigned()["c"], 9)
		d := f.start("d", 10)
		d.seats(3)
		require.Equal(t, numbered(9), d.Matches())
		require.Equal(t, 4*settleTime, time.Since(began))
	})
}

// The log stores heartbeats and assignments, but their acknowledgements are lost.
func TestLostAcknowledgements(t *testing.T) {
	withFixture(t, func(f *fixture) {
		log := logtest.NewFaulty(f.log)
		for nth := range 60 {
			if nth%3 > 0 {
				log.FailAppend(nth, logtest.StoredAnyway)
			}
		}
		a := f.startOn(log, "a", 10)
		b := f.start("b", 10)
		a.seats(1)
		f.seat(numbered(4)...)
		for range 10 {
			_ = a.divide(f.t.Context()) // may fail; the next tick retries
			later(10 * time.Second)
			require.Len(t, a.List(), 2)
		}
		require.Len(t, a.Matches(), 2)
		require.Len(t, b.Matches(), 2)
		require.Zero(t, a.Handovers()+b.Handovers())
		require.True(t, a.mayCallBots())
	})
}

// Two processes assign at the same time. The one with the later lease prevails.
func TestConcurrentAssignments(t *testing.T) {
	withFixture(t, func(f *fixture) {
		faulty := logtest.NewFaulty(f.log)
		a := f.startOn(faulty, "a", 10)
		b := f.start("b", 10)
		a.generation, b.generation = 1, 2
		later(7 * time.Second) // each process has seen the other
		f.seat(numbered(4)...)
		faulty.BeforeAppend(faulty.Appends()+1, func() { require.NoError(t, b.divide(context.Background())) })
		require.ErrorIs(t, a.divide(f.t.Context()), arena.ErrNotSeating)
		settle()
		require.Len(t, a.Matches(), 2)
		require.Len(t, b.Matches(), 2)
		f.end("match-00")
		require.NoError(t, b.divide(f.t.Context()))
		require.Equal(t, 1, f.stored("MatchesAssigned"), "a match that has ended changes nothing")
		require.True(t, slices.Contains(append(f.assigned()["a"], f.assigned()["b"]...), "match-00"))
	})
}

// Operators see how long each member has been there. A member that starts again begins
// again.
func TestListSaysSinceWhenAMemberIsThere(t *testing.T) {
	withFixture(t, func(f *fixture) {
		began := time.Now()
		a := f.start("a", 10)
		later(20 * time.Second)
		b := f.start("b", 5)
		f.until(10*time.Second, "the other process is known", func() bool { return len(a.List()) == 2 })
		joined := time.Now()
		later(time.Minute)
		list := a.List()
		require.Equal(t, []string{"a", "b"}, []string{list[0].Member, list[1].Member})
		require.Equal(t, began, list[0].Since)
		require.Equal(t, 5, list[1].MaxMatches)
		require.WithinDuration(t, joined, list[1].Since, time.Second)

		b.stop()
		f.start("b", 5)
		later(time.Minute)
		require.WithinDuration(t, joined.Add(time.Minute), a.List()[1].Since, 10*time.Second)
	})
}

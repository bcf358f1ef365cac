package membership_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// While the log is unavailable, nobody is judged: neither during nor after the outage.
func TestOutageJudgesNobody(t *testing.T) {
	for name, cut := range map[string]int{"one process": 1, "all processes": 3} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(f *fixture) {
				a := f.start("a", 10)
				later(600 * time.Millisecond)
				b := f.start("b", 10)
				later(600 * time.Millisecond)
				c := f.start("c", 10)
				a.seats(1)
				f.seat(numbered(9)...)
				a.tick()
				all := []*process{a, b, c}
				for _, outage := range []time.Duration{time.Second, 9 * time.Second, 14 * time.Second, time.Minute, time.Hour} {
					for _, p := range all[:cut] { // a observes the others
						p.log.away.Store(true)
					}
					later(outage)
					for _, p := range all[:cut] {
						p.log.away.Store(false)
					}
					later(time.Minute)
					require.Len(t, a.List(), 3, outage)
				}
				for _, p := range all {
					require.True(t, p.mayCallBots())
					if cut < len(all) && p == a { // the others have taken its matches
						require.Empty(t, p.Matches())
						require.NotContains(t, p.lines.String(), "a member is gone")
					} else if cut == len(all) {
						require.Len(t, p.Matches(), 3)
						require.NotContains(t, p.lines.String(), "a member is gone")
					}
				}
			})
		})
	}
}

// Heartbeats of both processes fail or are late. After that, one of them is heard later than
// the other one, but it is not gone.
func TestHeartbeatsAreInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		between, until, outage time.Duration
		hangs                  bool // calls fail only after the outage
	}{
		"a heartbeat fails":                {between: 250 * time.Millisecond, until: 10 * time.Second, outage: 6750 * time.Millisecond},
		"a heartbeat of another one fails": {between: 2400 * time.Millisecond, until: 14900 * time.Millisecond, outage: 5600 * time.Millisecond, hangs: true},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(f *fixture) {
				began := time.Now()
				all := []*process{f.start("b", 10)}
				later(c.between)
				all = append(all, f.start("a", 10))
				later(time.Until(began.Add(c.until)))
				var ends []func()
				for _, p := range all {
					if c.hangs {
						ends = append(ends, p.log.freeze())
						continue
					}
					p.log.away.Store(true)
					ends = append(ends, func() { p.log.away.Store(false) })
				}
				later(c.outage)
				for _, end := range ends {
					end()
				}
				later(time.Minute)
				for _, p := range all {
					require.NotContains(t, p.lines.String(), "is gone")
				}
			})
		})
	}
}

// Appends hang, but reads do not, so a process subscribes again meanwhile. That does not end
// the interruption: the other one is not gone although its heartbeat comes later.
func TestSubscriptionWhileAppendsHang(t *testing.T) {
	withFixture(t, func(f *fixture) {
		began := time.Now()
		at := func(d time.Duration) { later(time.Until(began.Add(d))) }
		b := f.start("b", 10)
		at(1200 * time.Millisecond)
		a := f.start("a", 10)
		at(9900 * time.Millisecond) // just before b's heartbeat
		never, answered := make(chan struct{}), make(chan struct{})
		b.log.hangs.Store(&never)
		a.log.hangs.Store(&answered)
		at(16700 * time.Millisecond) // a's first attempt has failed
		a.Forget()
		at(22100 * time.Millisecond) // b's third attempt has begun, and hangs for 5 s
		b.log.hangs.Store(nil)
		close(answered)
		at(time.Minute)
		require.True(t, b.mayCallBots())
		for _, p := range []*process{a, b} {
			require.Contains(t, p.lines.String(), "could not store a heartbeat")
			require.NotContains(t, p.lines.String(), "is gone")
		}
	})
}

// A process that is cut off from the log stops calling bots before the others take its
// matches. When the log is back, it first stops these matches.
func TestProcessThatIsCutOffStopsCallingBots(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		later(1300 * time.Millisecond)
		b := f.start("b", 10)
		a.seats(1)
		f.seat(numbered(4)...)
		a.tick()
		later(20 * time.Second)
		b.log.away.Store(true)
		closed := f.until(time.Minute, "the gate is closed", func() bool { return !b.mayCallBots() })
		require.LessOrEqual(t, closed, 8*time.Second)
		f.until(time.Minute, "the matches continue", func() bool { return len(a.Matches()) == 4 })
		require.Len(t, b.Matches(), 2, "it does not know yet")
		require.False(t, b.mayCallBots())
		later(time.Hour)

		b.log.away.Store(false)
		f.until(time.Minute, "the gate is open", func() bool {
			if b.mayCallBots() {
				require.Empty(t, b.Matches(), "it stops the matches before it opens the gate")
			}
			return b.mayCallBots()
		})
		f.seat("new")
		f.until(10*time.Second, "the process is known again", func() bool { return len(a.List()) == 2 })
		a.tick()
		require.Equal(t, []string{"new"}, b.Matches())
	})
}

// A paused process runs again after the others have taken its matches.
func TestPausedProcessStopsItsMatchesFirst(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		later(2100 * time.Millisecond)
		b := f.start("b", 10)
		a.seats(1)
		f.seat(numbered(4)...)
		a.tick()
		later(11 * time.Second)
		thaw := b.log.freeze()
		later(20 * time.Second)
		require.False(t, b.mayCallBots())
		require.Len(t, a.Matches(), 4)
		opened := b.Gate()
		go func() {
			<-opened
			assert.Empty(t, b.Matches())
		}()
		thaw()
		f.until(time.Minute, "the gate is open", b.mayCallBots)
		require.Empty(t, b.Matches())
		later(time.Minute)
		require.Len(t, a.List(), 2)
		require.Empty(t, b.Matches())
	})
}

// A paused process runs again while another process gives its matches away. The process
// opens its gate first, so it keeps its matches.
func TestGateOpensBeforeTheMatchesMove(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, b := f.start("a", 10), f.start("b", 10)
		a.generation = 1
		later(7 * time.Second)
		f.seat(numbered(4)...)
		a.tick()
		thaw := b.log.freeze()
		opened := make(chan bool, 1)
		a.log.beforeAssign(func() {
			assert.False(t, b.mayCallBots())
			thaw()
			<-time.After(1500 * time.Millisecond) // its pending heartbeat has failed, so it sends another one
			opened <- b.mayCallBots()
		})
		require.True(t, <-opened)
		require.Contains(t, a.lines.String(), "a member is gone")
		for range 60 {
			require.Len(t, b.Matches(), 2)
			require.Len(t, a.Matches(), 2)
			later(time.Second)
		}
		require.Zero(t, a.Handovers())
		require.True(t, b.mayCallBots())
	})
}

// A paused process that nobody has replaced continues.
func TestPausedProcessContinues(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		a.seats(1)
		f.seat(numbered(4)...)
		a.tick()
		thaw := a.log.freeze()
		later(time.Hour)
		require.False(t, a.mayCallBots())
		thaw()
		f.until(10*time.Second, "the gate is open", a.mayCallBots)
		require.Equal(t, numbered(4), a.Matches())
		for _, id := range numbered(4) {
			require.Equal(t, 1, a.began[id])
		}
	})
}

// A process is paused twice, and the only other one dies meanwhile. Whenever the pauses begin,
// the process continues the matches in time. Its last heartbeat before the second pause may
// come back only after that pause.
func TestPausedProcessJudgesInTime(t *testing.T) {
	for began := time.Duration(0); began < 5*time.Second; began += 200 * time.Millisecond {
		withFixture(t, func(f *fixture) {
			a, b := f.start("a", 10), f.start("b", 10)
			b.seats(1)
			f.seat(numbered(4)...)
			b.tick()
			later(10*time.Second + began)
			thaw := a.log.freeze()
			later(4 * time.Second)
			thaw()
			thaw = a.log.freeze()
			defer thaw() // a process that is paused would not stop
			f.until(bound, "b has all matches", func() bool { return len(b.Matches()) == 4 })
			b.stop()
			later(time.Minute)
			thaw()
			took := f.until(time.Minute, "a has all matches", func() bool { return a.mayCallBots() && len(a.Matches()) == 4 })
			require.LessOrEqual(t, took, bound+settleTime+10*time.Millisecond, "the pause began after %s", began)
		})
	}
}

// After an outage, a process replaces its subscription just after it has stored a heartbeat.
// So the heartbeat does not come back. The other one's 8 s begin with the new subscription, not
// with the next heartbeat.
func TestNewSubscriptionJudgesInTime(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, b := f.start("a", 10), f.start("b", 10)
		b.seats(1)
		f.seat(numbered(4)...)
		b.tick()
		later(8 * time.Second)
		a.log.away.Store(true)
		later(6 * time.Second) // a cannot store a heartbeat
		b.stop()
		a.log.silent.Store(true)
		a.log.away.Store(false)
		stored := f.stored("MemberSeen")
		f.until(2*time.Second, "a stores a heartbeat", func() bool { return f.stored("MemberSeen") > stored })
		a.Forget()
		took := f.until(time.Minute, "a has all matches", func() bool { return a.mayCallBots() && len(a.Matches()) == 4 })
		require.LessOrEqual(t, took, 8*time.Second+20*time.Millisecond)
	})
}

// A subscription that delivers nothing is replaced. The death of another process in the
// meantime is noticed.
func TestSilentSubscriptionIsReplaced(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		later(1700 * time.Millisecond)
		b := f.start("b", 10)
		a.seats(1)
		f.seat(numbered(4)...)
		a.tick()
		later(20 * time.Second)
		a.log.silent.Store(true)
		b.stop()
		took := f.until(time.Minute, "the matches continue", func() bool { return len(a.Matches()) == 4 })
		require.LessOrEqual(t, took, 30*time.Second)
		require.Contains(t, a.lines.String(), "silent")

		c := f.start("c", 10)
		a.log.silent.Store(true)
		later(5 * time.Minute)
		require.Len(t, a.List(), 2, "c is alive")
		require.True(t, c.mayCallBots())
	})
}

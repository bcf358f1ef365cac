package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
)

// readSide contains the read models, wired like the real ones in cmd. They catch up
// with the log only when the test calls sync.
type readSide struct {
	t       *testing.T
	list    *matches.Matches
	board   *leaderboard.Leaderboard
	people  *directory.Directory
	runners []*projections.Runner
}

func newReadSide(t *testing.T, log eventstore.Log) *readSide {
	t.Helper()
	r := &readSide{t: t, list: matches.New(), board: leaderboard.New(), people: directory.New()}
	for _, m := range []projections.Model{r.list, r.board, r.people} {
		r.runners = append(r.runners, arenatest.Follow(t, log, m))
	}
	return r
}

func (r *readSide) sync() {
	r.t.Helper()
	for _, runner := range r.runners {
		require.NoError(r.t, runner.Sync(r.t.Context()))
	}
}

// Rows implements api.Leaderboard.
func (r *readSide) Rows(mode string) ([]leaderboard.Row, error) {
	return r.board.Rows(mode, r.names), nil
}

// Version implements api.Leaderboard.
func (r *readSide) Version() (uint64, error) { return r.board.Version() + r.people.Version(), nil }

// Games implements api.Leaderboard.
func (r *readSide) Games(botID string) int { return r.board.Games(botID) }

// BySeat implements api.Leaderboard.
func (r *readSide) BySeat(botID string) ([]leaderboard.SeatTally, error) {
	return r.board.BySeat(botID)
}

// ByVersion implements api.Leaderboard.
func (r *readSide) ByVersion(botID string) ([]leaderboard.VersionTally, error) {
	return r.board.ByVersion(botID)
}

// Results implements api.Leaderboard.
func (r *readSide) Results(mode string, players int) []leaderboard.SeatTally {
	return r.board.Results(mode, players)
}

// ByOpening implements api.Leaderboard.
func (r *readSide) ByOpening(botID string) ([]leaderboard.OpeningTally, error) {
	return r.board.ByOpening(botID)
}

// ByLength implements api.Leaderboard.
func (r *readSide) ByLength(botID string) ([]leaderboard.LengthTally, error) {
	return r.board.ByLength(botID)
}

// Openings implements api.Leaderboard.
func (r *readSide) Openings(mode string, players int) []leaderboard.OpeningTally {
	return r.board.Openings(mode, players)
}

// Lengths implements api.Leaderboard.
func (r *readSide) Lengths(mode string, players int) []leaderboard.LengthTally {
	return r.board.Lengths(mode, players)
}

// RowsAt implements api.Leaderboard.
func (r *readSide) RowsAt(mode string, at time.Time) ([]leaderboard.Row, error) {
	return r.board.RowsAt(mode, at, r.names)
}

// History implements api.Leaderboard.
func (r *readSide) History(botID string) (api.BotHistory, bool, error) {
	h, ok, err := r.board.History(botID)
	b, _ := r.people.Bot(botID)
	return api.BotHistory{History: h, Name: b.Name, Owner: r.people.Handle(b.OwnerID)}, ok, err
}

func (r *readSide) names(botID string) (name, owner string, ok bool) {
	b, ok := r.people.Bot(botID)
	return b.Name, r.people.Handle(b.OwnerID), ok && !b.Removed
}

// The type spectated is an arena with a match in each state. The order of the fields is
// the order in which the matches were seated.
type spectated struct {
	*arena
	play *arenatest.Arena
	bots []string // ten bots of the standard mode

	four, three     *arenatest.Game // completed
	aborted         *arenatest.Game
	unrated, unvoid *arenatest.Game // these matches have ended, but the ladder has not rated or voided them yet
	running         *arenatest.Game // in its 12th turn
	seated          *arenatest.Game // not started
}

func newSpectated(t *testing.T, edits ...func(*api.Options)) *spectated {
	t.Helper()
	a := newArena(t, edits...)
	p := arenatest.New(t, a.log, 5)
	p.Own("ada", owner.SignedUp{OwnerID: "ada"}, owner.HandleChosen{Handle: "countess"})
	bots := p.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve")
	bots = append(bots, p.Register("bob", ladder.Standard, "Fay", "Gus", "Hal", "Ida", "Jon")...)
	parley := p.Register("bob", ladder.Parley, "Kim", "Lou", "Max")
	s := &spectated{arena: a, play: p, bots: bots}
	begin := func(mode string, turn uint16, bots ...string) *arenatest.Game {
		g := p.Seat(mode, bots...)[0]
		g.Start()
		g.Play(turn)
		return g
	}
	s.four = p.Complete(ladder.Standard, bots[:4]...)
	s.three = p.Complete(ladder.Parley, parley...)
	s.aborted = begin(ladder.Standard, 7, bots[:3]...)
	s.aborted.Abort(match.WallClock)
	s.aborted.Conclude()
	s.unrated = begin(ladder.Parley, 5, parley...)
	s.unrated.PlayOut()
	s.unvoid = begin(ladder.Standard, 3, bots[:3]...)
	s.unvoid.Abort(match.Operator)
	s.running = begin(ladder.Standard, 12, bots[3:7]...)
	s.seated = p.Seat(ladder.Standard, bots[7:]...)[0]
	a.read.sync()
	return s
}

// get makes a call without credentials.
func (s *spectated) get(target string) *answer {
	s.t.Helper()
	return s.anyone().do(http.MethodGet, target, nil)
}

// The method listed() returns the ids of the matches in a response from /matches, and
// the value of the response's field "next".
func (s *spectated) listed(target string) (ids []string, next any) {
	s.t.Helper()
	page := s.get(target).is(http.StatusOK)
	ids = []string{}
	for _, m := range page.json["matches"].([]any) {
		ids = append(ids, m.(map[string]any)["id"].(string))
	}
	return ids, page.json["next"]
}

func botGone(id string) owner.Event { return owner.BotRemoved{BotID: id} }

func botCalled(id, name string) owner.Event { return owner.BotRenamed{BotID: id, Name: name} }

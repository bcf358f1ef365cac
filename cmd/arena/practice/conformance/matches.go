package conformance

import (
	"context"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// The numbers of the matches that the bot plays. The seats differ.
const (
	firstGame = 100 + iota
	secondGame
	reconnectGame
	memoryGame = 1000
)

// seated is a match in which the bot has a seat.
type seated struct {
	*table

	r    *run
	seat int
	line *session
	turn uint16 // the latest turn in which the bot has acted
}

// sit starts a match with the bot at a seat.
func (r *run) sit(number, seats, seat int) *seated {
	t := newTable(number, seats, r.newMatchID())
	s := &seated{table: t, r: r, seat: seat}
	s.line = r.open(&t.m)
	return s
}

// redial opens a new connection for the same match.
func (s *seated) redial() {
	s.r.close(s.line)
	s.line = s.r.open(&s.m)
}

func (s *seated) close() { s.r.close(s.line) }

// advance plays until the bot has a decision. It returns false if the match is over or
// the bot has resigned.
func (s *seated) advance(ctx context.Context) (d match.Decision, ok bool) {
	for !s.m.Over() && !s.m.Resigned[s.seat] && ctx.Err() == nil {
		for _, d := range s.m.Asks() {
			if d.Seat == s.seat {
				return d, true
			}
		}
		s.step(nil)
	}
	return d, false
}

// play asks the bot for its decision, and plays the answer.
func (s *seated) play(ctx context.Context, d match.Decision) (position, *failure) {
	before := position{s.m, d}
	o, f := s.r.ask(ctx, s.line, &s.m, d, nil)
	if s.turn = 0; d.Kind == game.KindTurn {
		s.turn = s.m.Game.Turn
	}
	s.step(map[int]match.Outcome{s.seat: o})
	return before, f
}

// next plays the bot's next decision, if the match is not over.
func (s *seated) next(ctx context.Context) (played bool, f *failure) {
	d, ok := s.advance(ctx)
	if ok {
		_, f = s.play(ctx, d)
	}
	return ok, f
}

// toBeginning plays until the bot has a decision with which it can begin: the view shows
// everything that the bot must know.
func (s *seated) toBeginning(ctx context.Context) (d match.Decision, ok bool) {
	for {
		d, ok = s.advance(ctx)
		acted := d.Kind == game.KindTurn && s.turn == s.m.Game.Turn
		if !ok || !acted && !(position{s.m, d}).talkedThisTurn() {
			return d, ok
		}
		if _, f := s.play(ctx, d); f != nil {
			return d, false
		}
	}
}

// plainMatch lets the bot play a whole match at a table of three.
func (r *run) plainMatch(ctx context.Context) {
	if !r.ready() {
		return
	}
	s := r.sit(firstGame, 3, 1)
	defer s.close()
	for range maxDecisions {
		d, ok := s.advance(ctx)
		if !ok || !r.ready() {
			return
		}
		p, f := s.play(ctx, d)
		if f == nil {
			r.plain(d.Kind, nil)
			continue
		}
		r.blameMatch(ctx, p, f)
		if f.brokeOff() {
			return // on a new connection, the bot may no longer know what it did in this turn
		}
	}
}

// blameMatch decides which check a failure in the first match belongs to. The match
// differs from a plain request: it has talk, and many requests on one connection.
func (r *run) blameMatch(ctx context.Context, p position, f *failure) {
	switch {
	case !f.brokeOff():
		r.plain(p.d.Kind, f)
	case !r.breaksOff(ctx, p, nil):
		r.fail("connection", f)
	case len(p.m.View(p.d.Seat).TalkLog) > 0 && !r.breaksOff(ctx, p, r.quiet):
		r.fail("talklog", f)
	default:
		r.unsound(p.d.Kind, p.d.Kind.String(), f)
	}
}

// breaksOff reports whether the bot breaks the connection if it sees only this request.
// The answer may be illegal: the bot may not know that it has already acted in this turn.
func (r *run) breaksOff(ctx context.Context, p position, c change) bool {
	f := r.single(ctx, p, c)
	return f != nil && f.brokeOff()
}

// quiet removes the talk from a request.
func (r *run) quiet(req *match.Request) []byte {
	req.View.TalkLog = []match.TableTalk{}
	return req.AppendJSON(nil)
}

// secondDecisions is how many decisions of the second match the bot gets.
const secondDecisions = 20

// nextMatch lets the bot begin a second match, on another board and at another seat. A
// bot that remembers the first match fails.
func (r *run) nextMatch(ctx context.Context) {
	if !r.ready("matches") {
		return
	}
	s := r.sit(secondGame, 3, 2)
	defer s.close()
	for range secondDecisions {
		d, ok := s.advance(ctx)
		if !ok {
			return
		}
		p, f := s.play(ctx, d)
		switch {
		case f == nil && r.soundKind(d.Kind.String()):
			r.pass("matches")
		case f == nil || !r.soundKind(d.Kind.String()):
		case f.brokeOff() && !r.breaksOff(ctx, p, nil):
			r.fail("connection", f)
			return
		case checkFor(f) == d.Kind.String() || f.brokeOff():
			r.fail("matches", f)
			return
		default:
			r.plain(d.Kind, f)
		}
	}
}

// plainPositions asks for a decision of each kind, each in a match of its own.
func (r *run) plainPositions(ctx context.Context) {
	for _, p := range chosenPositions().threeSeats {
		if !r.ready(p.d.Kind.String()) || ctx.Err() != nil {
			return
		}
		if r.sound[p.d.Kind.String()] < 0 {
			continue
		}
		if f := r.single(ctx, p, nil); f != nil && f.brokeOff() {
			r.unsound(p.d.Kind, p.d.Kind.String(), f)
		} else {
			r.plain(p.d.Kind, f)
		}
	}
}

// fourSeats repeats the plain positions at tables of four.
func (r *run) fourSeats(ctx context.Context) {
	r.special(ctx, "seats", chosenPositions().fourSeats, nil)
}

// longTalk asks for decisions after much talk.
func (r *run) longTalk(ctx context.Context) {
	for _, p := range chosenPositions().longTalk {
		if !r.report.failed("talklog") {
			r.talkPosition(ctx, p)
		}
	}
}

func (r *run) talkPosition(ctx context.Context, p position) {
	if !r.ready("talklog") || !r.soundKind(p.d.Kind.String()) || ctx.Err() != nil {
		return
	}
	switch f := r.single(ctx, p, nil); {
	case f == nil:
		r.pass("talklog")
	case unreachable(f) || r.single(ctx, p, r.quiet) == nil:
		r.fail("talklog", f)
	default:
		r.plain(p.d.Kind, f)
	}
}

// oddViews asks for decisions at the limits of the rules. An illegal answer there says
// that the bot does not know a rule, not that it cannot read the view.
func (r *run) oddViews(ctx context.Context) {
	for _, p := range chosenPositions().unusual {
		if !r.ready("views") || ctx.Err() != nil {
			return
		}
		if !r.soundKind(p.d.Kind.String()) || p.m.Game.Seats == 4 && r.report.failed("seats") {
			continue
		}
		switch f := r.single(ctx, p, nil); {
		case f == nil:
			r.pass("views")
		case checkFor(f) == p.d.Kind.String():
			r.plain(p.d.Kind, f)
		default:
			r.blame(ctx, "views", p, nil, f)
		}
	}
}

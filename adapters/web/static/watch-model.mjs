// The frames of a match in order. For each frame, facts contains totals that the frame
// itself does not contain: rolls, income, thinking times and strikes so far. The totals are
// counted once, when the frame arrives, so that every step costs the same.
import { changes, empty, isCity, noChange, piecesOf } from './board-diff.mjs';
import { vertexHexes } from './board-geometry.mjs';
import { talkOf } from './watch-log.mjs';

// expected[sum] is the probability of a sum of two dice.
export const expected = Array.from({ length: 13 }, (_, sum) => (sum < 2 ? 0 : (6 - Math.abs(7 - sum)) / 36));

// turnOf returns the seat whose turn it is. During setup, the seats take turns in rising
// order and then in falling order.
export function turnOf(frame) {
  const n = frame.seatCount;
  if (frame.turn > 0) return (frame.turn - 1) % n;
  const placed = frame.towns.length;
  if (placed >= 2 * n) return 0;
  return placed < n ? placed : 2 * n - 1 - placed;
}

// scoresOf returns the points after a frame. The end of a match reveals the hidden points.
export const scoresOf = (frame) => frame.event.data?.scores ?? frame.scores;

// pointsOf says where the points of a seat come from at the end of a match. watch.html has
// the same words.
export function pointsOf(frame, seat) {
  const towns = frame.towns.filter((t) => t.seat === seat);
  const cities = towns.filter((t) => t.city).length;
  const road = frame.awards.longestRoad === seat ? 2 : 0;
  const army = frame.awards.largestArmy === seat ? 2 : 0;
  const settlements = towns.length - cities;
  const hidden = scoresOf(frame)[seat] - settlements - 2 * cities - road - army;
  return `Points: settlements\u00a0${settlements}, cities\u00a0${2 * cities}, longest road\u00a0${road}, largest army\u00a0${army}, cards\u00a0${hidden}`;
}

// gains returns by seat how many cards of each resource the hexes pay for a roll, before
// the limits of the bank.
export function gains(frame, layout) {
  const sum = frame.dice[0] + frame.dice[1];
  const paid = Array.from({ length: frame.seatCount }, () => ({}));
  for (const t of frame.towns) {
    for (const h of vertexHexes[t.vertex]) {
      const { token, resource } = layout.hexes[h];
      if (token === sum && h !== frame.board.bandit) paid[t.seat][resource] = (paid[t.seat][resource] ?? 0) + (t.city ? 2 : 1);
    }
  }
  return paid;
}

export class Timeline {
  constructor(layout, seats) {
    const zero = new Array(seats).fill(0);
    this.layout = layout;
    this.seats = seats;
    this.frames = [];
    this.facts = [];
    this.turns = []; // index of each turn's first frame; the first turn is the setup
    this.marks = []; // {at, kind}
    this.none = { dice: new Array(13).fill(0), rolls: 0, income: zero, thinking: zero, strikes: zero, resigned: zero, pieces: empty };
  }

  get length() { return this.frames.length; }

  // rollOf returns the index of the first roll of a sum after index i, or else of the first
  // one in the match, or -1.
  rollOf(sum, i) {
    const rolled = (f) => f.event.kind === 'roll' && f.dice[0] + f.dice[1] === sum;
    const later = this.frames.findIndex((f, at) => at > i && rolled(f));
    return later >= 0 ? later : this.frames.findIndex(rolled);
  }

  // answersTo says who has answered the open offer of a frame, and how. Only frames of an
  // ended match contain the answers.
  answersTo(frame) {
    const parts = [];
    for (let i = this.indexOf(frame.seq); this.frames[i]?.openTrade; i--) {
      const { seat, data } = this.frames[i].event;
      if (data?.kind === 'turn') break; // the offer
      if (data?.action && data.kind === 'trade') parts.unshift({ seat, accepts: data.action.accept });
    }
    return parts;
  }

  // next is the seq of the next frame.
  get next() { return this.length === 0 ? 1 : this.frames.at(-1).seq + 1; }

  // indexOf returns the index of the frame with a seq, or of the nearest frame.
  indexOf(seq) { return Math.min(Math.max(seq - (this.frames[0]?.seq ?? 1), 0), this.length - 1); }

  // add appends the next frame. It returns false if the frame is already known, or if frames
  // before it are missing.
  add(frame) {
    if (frame.seq !== this.next) return false;
    const before = this.frames.at(-1) ?? null;
    const facts = this.follow(this.facts.at(-1) ?? this.none, before, frame);
    const at = this.frames.push(frame) - 1;
    this.facts.push(facts);
    if (at === 0 || (frame.event.kind === 'roll' && frame.turn !== before.turn)) this.turns.push(at);
    const kind = markOf(before, frame, facts.changed);
    if (kind) this.marks.push({ at, kind, seat: kind === 'talk' ? frame.talkLog.at(-1).seat : frame.event.seat });
    return true;
  }

  follow(was, before, frame) {
    const { kind, seat, data } = frame.event;
    const pieces = piecesOf(frame);
    const facts = { ...was, pieces, changed: before ? changes(was.pieces, pieces) : noChange };
    if (kind === 'roll') {
      facts.dice = plus(was.dice, frame.dice[0] + frame.dice[1], 1);
      facts.rolls = was.rolls + 1;
    }
    if (kind === 'roll' || (kind === 'end' && before?.event.kind === 'roll')) { // the end takes back the income of a roll that won
      facts.income = was.income.map((n, s) => n + this.paid(before, frame)[s]);
    }
    if (data?.elapsedMs) facts.thinking = plus(was.thinking, seat, data.elapsedMs);
    if (kind === 'timeout' || kind === 'illegal') facts.strikes = plus(was.strikes, seat, 1);
    if (kind === 'resign') facts.resigned = plus(was.resigned, seat, 1);
    return facts;
  }

  // paid returns the cards that the hexes paid to each seat. A roll that wins pays nothing.
  paid(before, frame) {
    return before ? frame.handCounts.map((n, s) => n - before.handCounts[s]) : gains(frame, this.layout).map((cards) => Object.values(cards).reduce((sum, n) => sum + n, 0));
  }

  // turnStart returns the index of the first frame of the turn at index i, or of the turn
  // that is some steps away from it.
  turnStart(i, steps = 0) {
    let low = 0;
    while (low + 1 < this.turns.length && this.turns[low + 1] <= i) low++;
    if (steps < 0 && this.turns[low] < i) steps++;
    const turn = low + steps;
    return turn < this.turns.length ? this.turns[Math.max(turn, 0)] : this.length - 1;
  }
}

function plus(list, at, n) {
  const next = list.slice();
  next[at] += n;
  return next;
}

// markOf returns the kind of a frame's mark on the scrub bar, or "".
export function markOf(before, frame, changed) {
  const { kind } = frame.event;
  if (kind === 'timeout' || kind === 'illegal' || kind === 'resign') return 'strike';
  if (kind === 'steal') return 'robbery';
  if (kind === 'award') return 'award';
  if (kind === 'trade') return 'trade';
  if (frame.phase === 'main' && changed.towns.length > 0) return isCity(piecesOf(frame).towns[changed.towns[0]]) ? 'city' : 'build';
  return talkOf(before, frame) ? 'talk' : '';
}

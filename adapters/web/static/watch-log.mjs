// Describes events in sentences. A sentence is a list of parts: strings, {seat} for the
// name of a seat, {card, n} for cards, and {talk} for a message of a bot. Events of a running match contain no
// data, so their sentences describe the difference between two frames.
import { changes, empty, isCity, piecesOf } from './board-diff.mjs';
import { resources } from './board-geometry.mjs';
import { gains } from './watch-model.mjs';

const awardNames = { longestRoad: 'the longest road', largestArmy: 'the largest army' };
const causes = { deadline: 'ran out of time', dropped: 'lost the connection', malformed: 'sent a malformed answer', oversized: 'sent an oversized answer' };
const reasons = { win: 'a win', stalemate: 'stalemate, because 60 turns changed no points', turn_cap: 'the limit of 1,000 turns is reached' };

// cards returns the parts {card, n} of counts, or "nothing".
export function cards(counts = {}, sign = '') {
  const held = resources.filter((r) => counts[r] > 0).map((card) => ({ card, n: counts[card], sign }));
  return held.length > 0 ? held : ['nothing'];
}

// sentence describes a frame's event. before is the previous frame, or null.
export function sentence(before, frame, layout) {
  const { kind, seat, data } = frame.event;
  const parts = describe[kind]?.(before, frame, seat, data, layout) ?? [kind];
  const talk = talkOf(before, frame);
  return talk ? [...parts, ...parts.length ? [': '] : [], { talk }] : parts;
}

// talkOf returns the talk that came with an event, or "".
export function talkOf(before, frame) {
  const last = frame.talkLog.at(-1);
  const old = before?.talkLog.at(-1);
  if (!last || (old && old.turn === last.turn && old.seat === last.seat)) return '';
  return last.message;
}

const describe = {
  board: () => ['The board is set up'],
  roll: (before, f, seat, _, layout) => [{ seat }, ` rolls ${f.dice[0] + f.dice[1]}`, ` (${f.dice[0]} and ${f.dice[1]})`, ...received(before, f, layout)],
  action: (before, f, seat, data) => {
    const how = data?.default ? ' (default)' : '';
    return [{ seat }, ' ', ...(data ? acted(data, seat) : seen(before, f, seat)), how].filter((part) => part !== '');
  },
  steal: (before, f, seat, data) => [{ seat }, ' takes a card from ', ...robbed(before, f, seat, data)],
  trade: (before, f, seat, data) => (data
    ? [{ seat: data.from }, ' gives ', ...cards(data.give), ' to ', { seat: data.to }, ' for ', ...cards(data.get)]
    : [{ seat }, ' trades', ...partner(before, f, seat)]),
  award: (before, f, seat, data) => {
    const name = awardNames[data?.award ?? moved(before, f)] ?? 'an award';
    return seat === undefined ? ['Nobody has ', name, ' now'] : [{ seat }, ` takes ${name}`];
  },
  timeout: (_, f, seat, data) => [{ seat }, ` ${causes[data?.cause] ?? 'sent no usable answer'}`, ...struck(data)],
  illegal: (_, f, seat, data) => [{ seat }, ' broke a rule', ...(data ? [` (${data.reason.replaceAll('_', ' ')})`] : []), ...struck(data)],
  resign: (_, f, seat) => [{ seat }, ' resigns'],
  end: (_, f, seat, data) => ['The match ends', ...(data ? [': ', ...outcome(data)] : [])],
};

// received says who got cards for a roll. If the bank was short, the frame tells only how
// many cards a seat got.
function received(before, f, layout) {
  if (!before || !layout) return [];
  const got = gains(f, layout).flatMap((paid, seat) => {
    const n = f.handCounts[seat] - before.handCounts[seat];
    if (n <= 0) return [];
    const whole = Object.values(paid).reduce((sum, k) => sum + k, 0) === n;
    return [' · ', { seat }, ' ', ...(whole ? cards(paid, '+') : [`+${n} card${n === 1 ? '' : 's'}`])];
  });
  return got;
}

// outcome describes why a match ended and who won. The scores include hidden points.
function outcome({ reason, scores, placements }) {
  const winner = placements?.indexOf(1) ?? -1;
  return reason === 'win' && winner >= 0 ? [{ seat: winner }, ` wins with ${scores[winner]} points`] : [reasons[reason] ?? reason];
}

const struck = (data) => (data ? [`: strike ${data.strikes}`] : [': a strike']);

// acted describes an action from the event's data.
function acted(data, seat) {
  const a = data.action;
  switch (data.kind) {
    case 'setup': return [`settles on ${a.settlement}, with a road on ${a.road}`];
    case 'discard': return ['discards ', ...cards(a.cards)];
    case 'bandit': return [`moves the bandit to hex ${a.hex}`];
    case 'trade': return [a.accept ? 'accepts the offer' : 'declines the offer'];
    default: return turned(a, data, seat);
  }
}

function turned(a, data, seat) {
  switch (a.type) {
    case 'build_road': return [`builds a road on ${a.edge}`];
    case 'build_settlement': return [`builds a settlement on ${a.vertex}`];
    case 'build_city': return [`builds a city on ${a.vertex}`];
    case 'buy_dev': return ['buys a development card'];
    case 'play_knight': return [`plays a knight: the bandit moves to hex ${a.hex}`];
    case 'play_roadworks': return [`plays roadworks on ${a.edges.join(' and ')}`];
    case 'play_windfall': return ['plays windfall: ', ...cards(a.take)];
    case 'play_embargo': return [`plays embargo on ${a.resource}: ${collected(data, seat)}`];
    case 'bank_trade': return ['trades ', { card: a.give, n: '' }, ' for ', { card: a.get, n: '' }, ' with the bank'];
    case 'offer_trade': return ['offers ', ...cards(a.give), ' for ', ...cards(a.get), ...(a.to === undefined || a.to === null ? [' to all'] : [' to ', { seat: a.to }])];
    case 'end_turn': return ['ends the turn'];
    default: return ['acts'];
  }
}

function collected(data, seat) {
  const sum = (data.collected ?? []).reduce((n, c, s) => (s === seat ? n : n + c), 0);
  return `${sum} card${sum === 1 ? '' : 's'} collected`;
}

// seen describes an action from the changes between two frames.
function seen(before, f, seat) {
  const was = before ?? f;
  const changed = changes(before ? piecesOf(before) : empty, piecesOf(f));
  if (changed.towns.length > 0 && f.phase === 'setup' || (was.phase === 'setup' && changed.towns.length > 0)) return [`settles on ${changed.towns[0]}, with a road on ${changed.roads[0]}`];
  if (changed.towns.length > 0) return [`builds a ${isCity(piecesOf(f).towns[changed.towns[0]]) ? 'city' : 'settlement'} on ${changed.towns[0]}`];
  if (changed.roads.length > 0) return [f.devCounts[seat] < was.devCounts[seat] ? `plays roadworks on ${changed.roads.join(' and ')}` : `builds a road on ${changed.roads[0]}`];
  if (f.knightsPlayed[seat] > was.knightsPlayed[seat]) return [`plays a knight: the bandit moves to hex ${f.board.bandit}`];
  if (changed.bandit) return [`moves the bandit to hex ${f.board.bandit}`];
  if (f.devCounts[seat] > was.devCounts[seat]) return ['buys a development card'];
  if (f.devCounts[seat] < was.devCounts[seat]) return ['plays a development card'];
  if (f.openTrade && !was.openTrade) return ['offers ', ...cards(f.openTrade.give), ' for ', ...cards(f.openTrade.get), ...(f.openTrade.to === undefined ? [' to all'] : [' to ', { seat: f.openTrade.to }])];
  if (was.openTrade && seat !== was.openTrade.from) return ['answers the offer'];
  return byHands(was, f, seat);
}

function byHands(was, f, seat) {
  const change = f.handCounts[seat] - was.handCounts[seat];
  if (change === 0) return ['ends the turn'];
  if (was.dice && was.dice[0] + was.dice[1] === 7 && was.handCounts[seat] > 7 && -change === Math.floor(was.handCounts[seat] / 2)) {
    return [`discards ${-change} cards`];
  }
  return change < 0 ? ['trades with the bank'] : ['takes cards'];
}

function robbed(before, f, seat, data) {
  const victim = data?.victim ?? f.handCounts.findIndex((n, s) => s !== seat && before && n < before.handCounts[s]);
  return victim >= 0 ? [{ seat: victim }] : ['another seat'];
}

function partner(before, f, seat) {
  const to = before ? f.handCounts.findIndex((n, s) => s !== seat && n !== before.handCounts[s]) : -1;
  return to >= 0 ? [' with ', { seat: to }] : [''];
}

function moved(before, f) {
  if (!before) return undefined;
  return Object.keys(awardNames).find((a) => before.awards[a] !== f.awards[a]);
}

// plain returns a sentence as one string, for screen readers.
export function plain(parts, names) {
  return parts.map((p, i, list) => (typeof p === 'string' ? p : p.talk !== undefined ? `“${p.talk}”` : p.card ? `${p.sign ?? ''}${p.n} ${p.card}`.trim() + (list[i + 1]?.card ? ', ' : '') : names[p.seat] ?? `Seat ${p.seat}`)).join('');
}

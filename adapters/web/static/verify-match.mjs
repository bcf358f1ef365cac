// Recomputes the record of a match up to the first difference (docs/audit.md).
import { beaconSeed, hex, joint, matchID, serverSeed, sha256, shuffled, unhex } from './verify-chance.mjs';
import { Game, ports } from './verify-game.mjs';
import { Malformed, isInt, isNatural, format, isObject, parse, same } from './verify-json.mjs';
import { Illegal, Reader } from './verify-reader.mjs';

// Differs is a difference: the event's seq (0 for the record), the recorded value, and
// the value that follows from the seed and the earlier answers.
export class Differs extends Error {
  constructor(seq, log, follows) {
    super(`${seq ? `event ${seq}` : 'the record'}: the log has ${format(log)}; expected ${format(follows)}`);
    Object.assign(this, { seq, log, follows });
  }
}

const shapes = { // the fields of an event's data; those with ? are optional
  board: 'hexes ports bandit', roll: 'turn dice', action: 'decision kind action default elapsedMs collected?', steal: 'victim',
  trade: 'from to give get', award: 'award from to', timeout: 'decision kind cause elapsedMs strikes answer?',
  illegal: 'decision kind reason message answer elapsedMs strikes', resign: 'strikes', end: 'reason scores placements',
};
const wellShaped = (kind, data) => {
  const names = shapes[kind].split(' ');
  return Object.keys(data).every((k) => names.includes(k) || names.includes(`${k}?`)) && names.every((n) => n.endsWith('?') || n in data);
};
const counted = { roll: 'dice', steal: 'steals', trade: 'trades', award: 'awards', end: 'end', resign: 'strikes', timeout: 'strikes', illegal: 'refusals' };
const texts = ['reason', 'message', 'answer'];
const isTime = (v) => typeof v === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(v) && !Number.isNaN(Date.parse(v)) && new Date(v).toISOString() === v;

const need = (fits, what) => { if (!fits) throw new Malformed(`not the record of a match: ${what}`); };
const is32 = (v) => typeof v === 'string' && /^[0-9a-f]{64}$/.test(v);
const list = (v, of) => Array.isArray(v) && v.every(of);
const text = (v) => typeof v === 'string';

// Match checks one record. Its field checked counts the compared values by name.
export class Match {
  constructor(record) {
    need(isObject(record), 'not an object');
    for (const name of ['id', 'mode', 'status', 'startedAt']) need(text(record[name]), name);
    need(['completed', 'aborted'].includes(record.status), 'status');
    for (const name of ['players', 'replay']) need(list(record[name], isObject), name);
    need([3, 4].includes(record.players.length), 'players');
    need(is32(record.seed), 'seed');
    need((record.proof ?? null) === null === ((record.commitment ?? null) === null), 'commitment and proof');
    this.r = record;
    this.n = record.players.length;
    Object.assign(this, { next: 0, at: null, decision: 1, checked: {} });
    for (const name of ['strikes', 'thinking', 'resigned']) this[name] = new Array(this.n).fill(name === 'resigned' ? false : 0);
  }

  // verify returns the number of events, or throws the first difference. The optional
  // evidence is the platform key in base64 and the arena's seed keys.
  async verify({ platformKey = '', seedKeys = [] } = {}) {
    if ((this.r.proof ?? null) !== null) await this.chance(this.r.proof, platformKey, seedKeys);
    this.game = await Game.of(unhex(this.r.seed), this.n);
    this.board();
    while (!this.game.over && this.next < this.r.replay.length) {
      this.at = null;
      await this.batch();
      while (!this.game.over && this.game.owed()[1].every((s) => this.resigned[s])) await this.batch();
    }
    this.finish();
    return this.next;
  }

  count(name) { this.checked[name] = (this.checked[name] ?? 0) + 1; }

  equal(log, follows, seq = 0, name = '') {
    if (!same(log, follows)) throw new Differs(seq, log ?? null, follows);
    if (name) this.count(name);
  }

  async chance(p, platformKey, seedKeys) {
    const { r } = this;
    need(isObject(p) && is32(p.serverSeed) && is32(r.commitment), 'proof');
    need(isNatural(p.revision) && isNatural(p.index) && text(p.seedKey) && list(p.nonces, text) && list(p.table, text), 'proof');
    const server = unhex(p.serverSeed);
    this.equal([p.table.length, p.nonces.length, new Set(p.table).size], [this.n, this.n, this.n]);
    for (const nonce of p.nonces) if (!/^[\x21-\x7e]{0,64}$/.test(nonce)) throw new Differs(0, `the nonce ${nonce}`, 'up to 64 characters of 0x21 to 0x7E');
    if (platformKey) this.equal(r.id, await matchID(platformKey, r.mode, p.revision, p.index), 0, 'id');
    this.equal(r.commitment, hex(await sha256(server)), 0, 'commitment');
    const known = seedKeys.find((k) => k.id === p.seedKey && k.key !== null);
    if (known) {
      this.equal(known.hash, hex(await sha256(unhex(known.key))), 0);
      this.equal(p.serverSeed, hex(await serverSeed(unhex(known.key), r.id)), 0, 'seed key');
    }
    const joined = 'beacon' in p ? await beaconSeed(server, await this.randomness(p.beacon)) : await joint(server, p.nonces);
    this.equal(r.seed, hex(joined), 0, 'seed');
    const order = await shuffled(unhex(r.seed), 'seats', p.table.keys());
    this.equal(r.players.map((x) => x.botId ?? null), order.map((i) => p.table[i]), 0, 'seats');
  }

  // randomness returns the randomness of a beacon's round: the SHA-256 of its signature.
  // It does not check the signature, because browsers have no BLS.
  async randomness(round) {
    need(isObject(round) && is32(round.chain) && isNatural(round.round) && text(round.randomness) && text(round.signature), 'beacon');
    if (!/^[0-9a-f]{96}$/.test(round.signature)) throw new Differs(0, `the signature ${round.signature}`, '48 bytes in lower-case hex');
    const randomness = await sha256(unhex(round.signature));
    this.equal(round.randomness, hex(randomness), 0, 'beacon');
    return randomness;
  }

  // peek checks the shape of the next event, and returns the event.
  peek(follows) {
    const seq = this.next + 1;
    if (this.next >= this.r.replay.length) throw new Differs(seq, 'nothing: the replay ends', follows);
    const e = this.r.replay[this.next];
    const keys = Object.keys(e).filter((k) => k !== 'seat').sort().join();
    const fits = keys === 'at,data,kind,seq' && Object.hasOwn(shapes, e.kind) && isObject(e.data) && wellShaped(e.kind, e.data)
      && isTime(e.at) && texts.every((k) => !(k in e.data) || text(e.data[k]));
    if (!fits) throw new Differs(seq, e, 'an event as docs/audit.md defines it');
    this.equal(e.seq, seq, seq);
    return e;
  }

  take(e) {
    if (this.at !== null && this.at !== e.at) throw new Differs(this.next + 1, e.at, `the time ${this.at}`);
    this.at = e.at;
    this.next += 1;
    this.count(counted[e.kind] ?? (e.kind === 'board' ? 'board' : e.data.default ? 'defaults' : 'answers'));
  }

  expect({ kind, seat, data }) {
    const follows = seat === null ? { kind, data } : { kind, seat, data };
    const e = this.peek(follows);
    const recorded = Object.fromEntries(Object.entries(e).filter(([k]) => k !== 'seq' && k !== 'at'));
    if (!same(recorded, follows)) throw new Differs(this.next + 1, e, follows);
    this.take(e);
  }

  board() {
    const { resources, tokens, bandit } = this.game;
    const hexes = resources.map((resource, id) => ({ id, resource, token: tokens[id] || null }));
    const shown = ports.map(([a, b, r]) => ({ vertices: [a, b], rate: r ? 2 : 3, ...(r && { resource: r }) }));
    this.expect({ kind: 'board', seat: null, data: { hexes, ports: shown, bandit } });
  }

  async batch() {
    const [kind, seats] = this.game.owed();
    const first = this.decision;
    this.decision += seats.length;
    seats.forEach((seat, i) => {
      if (this.resigned[seat]) this.default(first + i, kind, seat);
      else this.close(first + i, kind, seat);
    });
    while (!this.game.over) {
      const event = await this.game.follows();
      if (event === null) return;
      this.expect(event);
    }
  }

  close(decision, kind, seat) {
    const follows = `an event that closes decision ${decision} (${kind}) of seat ${seat}`;
    const e = this.peek(follows);
    const d = e.data;
    const seq = this.next + 1;
    if (!['action', 'timeout', 'illegal'].includes(e.kind) || !same([e.seat ?? null, d.decision, d.kind], [seat, decision, kind])) throw new Differs(seq, e, follows);
    if (e.kind === 'action') { this.answer(e, kind, seat); return; }
    if (!isNatural(d.elapsedMs)) throw new Differs(seq, e, 'a valid elapsedMs');
    this.equal(d.strikes, this.strikes[seat] + 1, seq);
    if (e.kind === 'illegal') this.refusal(e, kind, seat);
    else if (!['deadline', 'dropped', 'malformed', 'oversized'].includes(d.cause) || 'answer' in d !== (d.cause === 'malformed')) throw new Differs(seq, e, 'a cause, and an answer only if the cause is malformed');
    this.take(e);
    this.thinking[seat] += d.elapsedMs;
    this.strikes[seat] += 1;
    this.default(decision, kind, seat);
    if (this.strikes[seat] === 3) {
      this.expect({ kind: 'resign', seat, data: { strikes: 3 } });
      this.resigned[seat] = true;
    }
  }

  // judge reads an action and throws Illegal or Malformed if it is not allowed.
  judge(kind, seat, action) {
    const a = new Reader(kind, action);
    this.game.check(seat, a.type, a.fields);
    if (a.talk && this.game.talked.has(seat)) throw new Illegal('talk_twice');
    return a;
  }

  answer(e, kind, seat) {
    const d = e.data;
    const seq = this.next + 1;
    let a;
    try {
      a = this.judge(kind, seat, d.action);
    } catch (error) {
      if (error instanceof Illegal || error instanceof Malformed) throw new Differs(seq, e, `a refusal: ${error.message}`);
      throw error;
    }
    const collected = a.type === 'play_embargo' ? this.game.collected(seat, a.fields.resource) : null;
    const unknown = Object.keys(d.action).filter((k) => !a.known.has(k) || d.action[k] === null);
    if (d.default !== false || !isNatural(d.elapsedMs) || unknown.length > 0 || !same(d.collected ?? null, collected) || (collected === null && 'collected' in d)) {
      throw new Differs(seq, e, { default: false, collected, 'unknown fields': unknown });
    }
    this.take(e);
    this.thinking[seat] += d.elapsedMs;
    this.game.act(seat, a.type, a.fields);
    if (a.talk) this.game.talked.add(seat);
  }

  refusal(e, kind, seat) {
    const d = e.data;
    const seq = this.next + 1;
    let reason = 'none: the answer is legal';
    try {
      const answer = parse(d.answer, 64);
      if (!isObject(answer) || !isInt(answer.id) || !('action' in answer)) throw new Malformed('no answer');
      this.equal(answer.id, d.decision, seq);
      this.judge(kind, seat, answer.action);
    } catch (error) {
      if (error instanceof Illegal) reason = error.message;
      else if (!(error instanceof Malformed)) throw error;
      else if (new TextEncoder().encode(d.answer).length > 4092) return; // the log contains only the start of a long answer
      else reason = `a timeout: ${error.message}`;
    }
    this.equal(d.reason, reason, seq);
  }

  default(decision, kind, seat) {
    const action = this.game.default(seat, kind);
    this.expect({ kind: 'action', seat, data: { decision, kind, action, default: true, elapsedMs: null } });
    const a = new Reader(kind, action);
    this.game.act(seat, a.type, a.fields);
  }

  finish() {
    const { r } = this;
    const { over } = this.game;
    const last = r.replay.at(-1);
    if (this.next < r.replay.length) throw new Differs(this.next + 1, r.replay[this.next], 'nothing: the match is over');
    if (!over && r.status === 'completed') throw new Differs(this.next + 1, 'nothing: the replay ends', 'answers to the open decisions');
    this.equal(r.status, over ? 'completed' : 'aborted', this.next);
    if ((r.thinkingMs ?? null) !== null) this.equal(r.thinkingMs, this.thinking);
    const none = new Array(this.n).fill(null);
    this.equal(r.players.map((p) => p.seat ?? null), [...none.keys()]);
    this.equal(r.players.map((p) => p.placement ?? null), over ? last.data.placements : none, 0, 'placements');
    if (!over) this.equal(r.players.map((p) => p.ratingDelta ?? null), none);
    this.equal(r.startedAt, r.replay[0].at);
    if (over) this.equal(r.endedAt ?? null, last.at);
    else if (!isTime(r.endedAt)) throw new Differs(0, r.endedAt ?? null, 'a time');
  }
}

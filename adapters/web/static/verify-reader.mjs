// Reads the action of an answer (docs/audit.md, "Reading an answer").
import { resources } from './board-geometry.mjs';
import { Malformed, isInt, isObject, keysOf } from './verify-json.mjs';

// Illegal is thrown for an answer that breaks a rule. Its message is the reason's code.
export class Illegal extends Error {}

export { resources };

const turns = {
  build_road: { edge: 72 }, build_settlement: { vertex: 54 }, build_city: { vertex: 54 }, buy_dev: {}, end_turn: {},
  play_knight: { hex: 19, 'victim?': 4 }, play_roadworks: { edges: 'edges' }, play_windfall: { take: 'counts' },
  play_embargo: { resource: 'resource' }, bank_trade: { give: 'resource', get: 'resource' },
  offer_trade: { give: 'counts', get: 'counts', 'to?': 4 },
};
const others = { setup: { settlement: 54, road: 72 }, discard: { cards: 'counts' }, bandit: { hex: 19, 'victim?': 4 }, trade: { accept: 'bool' } };
const social = ['offer_trade', 'end_turn', 'bandit', 'trade'];

// Reader reads an action. It throws Malformed if the action has a wrong shape, and Illegal
// with the first broken rule if the action breaks a rule.
export class Reader {
  constructor(kind, action) {
    if (!isObject(action)) throw new Malformed('not an object');
    this.action = action;
    this.reason = null;
    this.fields = {};
    this.known = new Set();
    this.type = kind;
    if (kind === 'turn') {
      this.known.add('type');
      if (typeof action.type !== 'string') throw new Malformed('type');
      this.type = action.type;
      if (!Object.hasOwn(turns, this.type)) throw new Illegal('unknown_type');
    }
    for (const [name, shape] of Object.entries(kind === 'turn' ? turns[this.type] : others[kind])) this.field(name, shape);
    this.talk = social.includes(this.type) ? this.readTalk() : '';
    if (this.reason) throw new Illegal(this.reason);
  }

  refuse(reason) { this.reason ??= reason; }

  field(shown, shape) {
    const name = shown.replace('?', '');
    this.known.add(name);
    const value = this.action[name] ?? null;
    if (value === null) {
      if (name === shown) throw new Malformed(`${name} is missing`);
      this.fields[name] = null;
      return;
    }
    this.fields[name] = this.read(name, value, shape);
  }

  read(name, value, shape) {
    const need = (fits) => { if (!fits) throw new Malformed(name); };
    switch (shape) {
      case 'bool':
        need(typeof value === 'boolean');
        return value;
      case 'resource':
        need(typeof value === 'string');
        if (!resources.includes(value)) this.refuse('unknown_resource');
        return value;
      case 'counts':
        return this.counts(value);
      case 'edges':
        need(Array.isArray(value));
        if (value.length !== 1 && value.length !== 2) this.refuse('edge_count');
        return value.map((v) => this.number(v, 72));
      default:
        return this.number(value, shape);
    }
  }

  number(value, limit) {
    if (!isInt(value)) throw new Malformed('not an integer');
    if (value < 0 || value >= limit) this.refuse('out_of_range');
    return value;
  }

  counts(value) {
    if (!isObject(value)) throw new Malformed('not counts');
    const counts = {};
    for (const name of keysOf(value)) {
      const n = value[name];
      if (!isInt(n)) throw new Malformed('a count');
      if (!resources.includes(name)) this.refuse('unknown_resource');
      else if (n < 0) this.refuse('negative_count');
      else if (n > 50000) this.refuse('out_of_range');
      else if (n > 0) counts[name] = n;
    }
    return counts;
  }

  readTalk() {
    this.known.add('talk');
    const talk = this.action.talk ?? null;
    if (talk !== null && typeof talk !== 'string') throw new Malformed('talk');
    if ([...(talk ?? '')].length > 240) this.refuse('talk_too_long');
    return talk ?? '';
  }
}

// The rules of the game, as docs/audit.md defines them for a checker. The state includes
// the hands and the deck, which are public because only ended matches are checked.
import { edges, hexVertices } from './board-geometry.mjs';
import { Draws, deck, layout } from './verify-chance.mjs';
import { Illegal, resources } from './verify-reader.mjs';

const range = (n) => [...new Array(n).keys()];
const sum = (list) => list.reduce((a, b) => a + b, 0);

export const ports = [[0, 3, null], [11, 16, 'brick'], [33, 38, null], [47, 51, 'lumber'], [49, 52, null], [42, 46, 'wool'], [26, 32, 'grain'], [10, 15, null], [1, 5, 'ore']];
const at = range(54).map((v) => range(72).filter((e) => edges[e].includes(v))); // edges at a vertex
const over = (e, v) => edges[e][0] + edges[e][1] - v; // the other end
const next = range(54).map((v) => at[v].map((e) => over(e, v)));

const costs = {
  road: { brick: 1, lumber: 1 }, settlement: { brick: 1, lumber: 1, wool: 1, grain: 1 }, city: { grain: 2, ore: 3 }, dev: { wool: 1, grain: 1, ore: 1 },
};

const refuse = (reason) => { throw new Illegal(reason); };

// Game is the state of a game. Create it with Game.of.
export class Game {
  static async of(seed, seats) {
    const g = new Game(seats);
    Object.assign(g, await layout(seed));
    g.deck = await deck(seed);
    g.dice = new Draws(seed, 'dice');
    g.steals = new Draws(seed, 'steal');
    g.bandit = g.resources.indexOf('desert');
    return g;
  }

  constructor(seats) {
    const each = (make) => range(seats).map(make);
    this.n = seats;
    this.hands = each(() => Object.fromEntries(resources.map((r) => [r, 0])));
    this.roads = each(() => new Set());
    this.settlements = each(() => new Set());
    this.cities = each(() => new Set());
    this.devs = each(() => []);
    this.bought = each(() => []);
    this.knights = each(() => 0);
    this.longest = each(() => 0);
    this.holder = { longestRoad: null, largestArmy: null };
    this.setup = [...range(seats), ...range(seats).reverse()];
    Object.assign(this, { drawn: 0, turn: 0, scored: 0, seat: 0, offers: 0, discarding: [], moving: false, ending: false, played: false });
    Object.assign(this, { offer: null, accepted: null, robbery: null, talked: new Set(), over: false });
  }

  towns(seat) { return [...this.settlements[seat], ...this.cities[seat]]; }

  owner(vertex) {
    const seat = range(this.n).find((s) => this.settlements[s].has(vertex) || this.cities[s].has(vertex));
    return seat ?? null;
  }

  free(vertex) { return [vertex, ...next[vertex]].every((v) => this.owner(v) === null); }
  ends(roads) { return new Set([...roads].flatMap((e) => edges[e])); }
  total(seat) { return sum(Object.values(this.hands[seat])); }

  score(seat) {
    const held = Object.values(this.holder).filter((s) => s === seat).length;
    const hidden = [...this.devs[seat], ...this.bought[seat]].filter((c) => c === 'victory_point').length;
    return this.settlements[seat].size + 2 * this.cities[seat].size + 2 * held + hidden;
  }

  rate(seat, resource) {
    const towns = this.towns(seat);
    const mine = ports.filter(([a, b, kind]) => (kind === null || kind === resource) && (towns.includes(a) || towns.includes(b)));
    return Math.min(4, ...mine.map((p) => (p[2] === null ? 3 : 2)));
  }

  // owed returns the kind of the next decisions and the seats that owe them.
  owed() {
    if (this.setup.length) return ['setup', [this.setup[0]]];
    if (this.offer) return ['trade', [...this.offer.asked].sort()];
    if (this.discarding.length) return ['discard', [...this.discarding]];
    return [this.moving ? 'bandit' : 'turn', [this.seat]];
  }

  // Checks of legality. Each throws Illegal with the first broken rule.

  check(seat, type, f) { checks[type].call(this, seat, f); }

  pays(seat, cost) { if (Object.entries(cost).some(([r, n]) => this.hands[seat][r] < n)) refuse('not_enough_cards'); }

  crowded(vertex) {
    if (this.owner(vertex) !== null) refuse('vertex_taken');
    if (!this.free(vertex)) refuse('distance_rule');
  }

  reaches(seat, edge, roads) {
    if (roads.has(edge) || this.roads.some((r) => r.has(edge))) refuse('edge_taken');
    const mine = this.ends(roads);
    const open = edges[edge].some((v) => this.owner(v) === seat || (this.owner(v) === null && mine.has(v)));
    if (!open) refuse(edges[edge].some((v) => mine.has(v)) ? 'road_blocked' : 'road_not_connected');
  }

  connected(seat, edge, most) {
    if (this.roads[seat].size > most) refuse('no_roads_left');
    this.reaches(seat, edge, this.roads[seat]);
  }

  holds(seat, card) {
    if (!this.devs[seat].includes(card)) refuse(this.bought[seat].includes(card) ? 'dev_bought_this_turn' : 'no_dev_card');
    if (this.played) refuse('dev_already_played');
  }

  // Effects of actions.

  act(seat, type, f) { acts[type].call(this, seat, f); }

  give(seat, cards, sign = 1) { for (const [r, n] of Object.entries(cards)) this.hands[seat][r] += sign * n; }

  lay(seat, list) {
    for (const e of list) this.roads[seat].add(e);
    this.longest[seat] = this.longestRoad(seat);
  }

  longestRoad(seat) {
    const list = [...this.roads[seat]];
    const place = new Map(list.map((e, i) => [e, i]));
    const stops = new Set(range(this.n).filter((s) => s !== seat).flatMap((s) => this.towns(s)));
    const on = (vertex, used, first) => {
      if (stops.has(vertex) && !first) return 0;
      let best = 0;
      for (const e of at[vertex]) {
        const bit = place.has(e) ? 1 << place.get(e) : 0;
        if (bit && !(used & bit)) best = Math.max(best, 1 + on(over(e, vertex), used | bit, false));
      }
      return best;
    };
    return Math.max(0, ...[...this.ends(list)].map((v) => on(v, 0, true)));
  }

  spend(seat, card) {
    this.devs[seat].splice(this.devs[seat].indexOf(card), 1);
    this.played = true;
  }

  collected(seat, resource) { return range(this.n).map((s) => (s === seat ? 0 : this.hands[s][resource])); }

  default(seat, kind) {
    switch (kind) {
      case 'setup': {
        const vertex = range(54).find((v) => this.free(v));
        return { settlement: vertex, road: at[vertex][0] };
      }
      case 'turn': return { type: 'end_turn' };
      case 'bandit': return { hex: this.bandit ? 0 : 1 };
      case 'trade': return { accept: false };
      default: {
        const hand = { ...this.hands[seat] };
        const cards = {};
        for (let left = Math.floor(this.total(seat) / 2); left > 0; left--) {
          const top = resources.reduce((best, r) => (hand[r] > hand[best] ? r : best)); // the first of equal resources
          hand[top] -= 1;
          cards[top] = (cards[top] ?? 0) + 1;
        }
        return { cards };
      }
    }
  }

  // follows applies the next event that needs no decision, and returns this event as
  // {kind, seat, data}. It returns null if a decision is due.
  async follows() {
    if (this.robbery) return this.steal();
    if (this.accepted) return this.trade();
    for (const [award, strength, least] of [['longestRoad', this.longest, 5], ['largestArmy', this.knights, 3]]) {
      const from = this.holder[award];
      const to = this.rightful(award, strength, least);
      if (from !== to) {
        this.holder[award] = to;
        this.scored = this.turn;
        return { kind: 'award', seat: to, data: { award, from, to } };
      }
    }
    if (this.turn > 0 && this.score(this.seat) >= 10) return this.end('win');
    if (!this.ending) return null;
    if (this.turn >= this.scored + 60) return this.end('stalemate');
    return this.turn >= 1000 ? this.end('turn_cap') : this.roll();
  }

  async steal() {
    const [thief, victim] = this.robbery;
    this.robbery = null;
    const drawn = await this.steals.uniform(this.total(victim));
    const card = resources.flatMap((r) => new Array(this.hands[victim][r]).fill(r))[drawn];
    this.hands[victim][card] -= 1;
    this.hands[thief][card] += 1;
    return { kind: 'steal', seat: thief, data: { victim } };
  }

  trade() {
    const { from, to, give, get } = this.accepted;
    this.accepted = null;
    this.give(from, give, -1);
    this.give(from, get);
    this.give(to, get, -1);
    this.give(to, give);
    return { kind: 'trade', seat: from, data: { from, to, give, get } };
  }

  rightful(award, strength, least) {
    const most = Math.max(...strength);
    const holder = this.holder[award];
    if (most < least) return null;
    if (holder !== null && strength[holder] === most) return holder;
    return strength.filter((s) => s === most).length === 1 ? strength.indexOf(most) : null;
  }

  end(reason) {
    this.over = true;
    const scores = range(this.n).map((s) => this.score(s));
    const rank = scores.map((score, s) => (reason === 'win' && s === this.seat ? 99 : score));
    const placements = rank.map((own) => 1 + rank.filter((other) => other > own).length);
    return { kind: 'end', seat: null, data: { reason, scores, placements } };
  }

  async roll() {
    this.devs[this.seat].push(...this.bought[this.seat].splice(0));
    this.seat = this.turn > 0 ? (this.seat + 1) % this.n : 0;
    Object.assign(this, { turn: this.turn + 1, ending: false, played: false, offers: 0, talked: new Set() });
    const dice = [(await this.dice.uniform(6)) + 1, (await this.dice.uniform(6)) + 1];
    this.tokens.forEach((token, h) => {
      if (token !== dice[0] + dice[1] || h === this.bandit) return;
      for (let s = 0; s < this.n; s++) {
        for (const v of hexVertices[h]) this.hands[s][this.resources[h]] += this.settlements[s].has(v) ? 1 : this.cities[s].has(v) ? 2 : 0;
      }
    });
    if (dice[0] + dice[1] === 7) {
      this.discarding = range(this.n).filter((s) => this.total(s) > 7);
      this.moving = this.discarding.length === 0;
    }
    return { kind: 'roll', seat: this.seat, data: { turn: this.turn, dice } };
  }
}

const checks = {
  setup(seat, f) {
    this.crowded(f.settlement);
    if (!edges[f.road].includes(f.settlement)) refuse('road_not_at_settlement');
  },
  build_road(seat, f) {
    this.connected(seat, f.edge, 14);
    this.pays(seat, costs.road);
  },
  build_settlement(seat, f) {
    if (this.settlements[seat].size >= 5) refuse('no_settlements_left');
    this.crowded(f.vertex);
    if (!this.ends(this.roads[seat]).has(f.vertex)) refuse('settlement_not_connected');
    this.pays(seat, costs.settlement);
  },
  build_city(seat, f) {
    if (this.cities[seat].size >= 4) refuse('no_cities_left');
    if (!this.settlements[seat].has(f.vertex)) refuse('not_your_settlement');
    this.pays(seat, costs.city);
  },
  buy_dev(seat) {
    if (this.drawn === this.deck.length) refuse('deck_empty');
    this.pays(seat, costs.dev);
  },
  play_knight(seat, f) {
    this.holds(seat, 'knight');
    checks.bandit.call(this, seat, f);
  },
  bandit(seat, f) {
    if (f.hex === this.bandit) refuse('bandit_must_move');
    if (f.victim === null) return;
    if (f.victim >= this.n) refuse('victim_not_playing');
    if (f.victim === seat) refuse('victim_self');
    if (!this.towns(f.victim).some((v) => hexVertices[f.hex].includes(v))) refuse('victim_not_on_hex');
  },
  play_roadworks(seat, f) {
    this.holds(seat, 'roadworks');
    const [first, second] = f.edges;
    if (f.edges.length === 1) { this.connected(seat, first, 14); return; }
    if (first === second) refuse('duplicate_edge');
    this.connected(seat, first, 13);
    this.reaches(seat, second, new Set([...this.roads[seat], first]));
  },
  play_windfall(seat, f) {
    this.holds(seat, 'windfall');
    if (sum(Object.values(f.take)) !== 2) refuse('windfall_count');
  },
  play_embargo(seat) { this.holds(seat, 'embargo'); },
  bank_trade(seat, f) {
    if (f.give === f.get) refuse('same_resource');
    this.pays(seat, { [f.give]: this.rate(seat, f.give) });
  },
  offer_trade(seat, f) {
    if (this.offers >= 5) refuse('too_many_offers');
    if (sum(Object.values(f.give)) === 0 || sum(Object.values(f.get)) === 0) refuse('empty_side');
    if (f.to !== null && f.to >= this.n) refuse('to_not_playing');
    if (f.to === seat) refuse('offer_to_self');
    this.pays(seat, f.give);
  },
  end_turn() {},
  discard(seat, f) {
    if (sum(Object.values(f.cards)) !== Math.floor(this.total(seat) / 2)) refuse('discard_count');
    this.pays(seat, f.cards);
  },
  trade(seat, f) { if (f.accept) this.pays(seat, this.offer.get); },
};

const acts = {
  setup(seat, f) {
    if (this.settlements[seat].size > 0) {
      hexVertices.forEach((vertices, h) => { if (vertices.includes(f.settlement) && this.resources[h] !== 'desert') this.hands[seat][this.resources[h]] += 1; });
    }
    this.settlements[seat].add(f.settlement);
    this.roads[seat].add(f.road);
    this.setup.shift();
    this.ending = this.setup.length === 0;
  },
  build_road(seat, f) {
    this.give(seat, costs.road, -1);
    this.lay(seat, [f.edge]);
  },
  build_settlement(seat, f) {
    this.give(seat, costs.settlement, -1);
    this.settlements[seat].add(f.vertex);
    this.scored = this.turn;
    this.longest = range(this.n).map((s) => this.longestRoad(s)); // a settlement can interrupt the roads of others
  },
  build_city(seat, f) {
    this.give(seat, costs.city, -1);
    this.settlements[seat].delete(f.vertex);
    this.cities[seat].add(f.vertex);
    this.scored = this.turn;
  },
  buy_dev(seat) {
    this.give(seat, costs.dev, -1);
    const card = this.deck[this.drawn++];
    this.bought[seat].push(card);
    if (card === 'victory_point') this.scored = this.turn;
  },
  play_knight(seat, f) {
    this.spend(seat, 'knight');
    this.knights[seat] += 1;
    acts.bandit.call(this, seat, f);
  },
  bandit(seat, f) {
    this.bandit = f.hex;
    this.moving = false;
    if (f.victim !== null && this.total(f.victim) > 0) this.robbery = [seat, f.victim];
  },
  play_roadworks(seat, f) {
    this.spend(seat, 'roadworks');
    this.lay(seat, f.edges);
  },
  play_windfall(seat, f) {
    this.spend(seat, 'windfall');
    this.give(seat, f.take);
  },
  play_embargo(seat, f) {
    this.spend(seat, 'embargo');
    this.collected(seat, f.resource).forEach((n, s) => {
      this.hands[s][f.resource] -= n;
      this.hands[seat][f.resource] += n;
    });
  },
  bank_trade(seat, f) {
    this.hands[seat][f.give] -= this.rate(seat, f.give);
    this.hands[seat][f.get] += 1;
  },
  offer_trade(seat, f) {
    this.offers += 1;
    const asked = f.to === null ? range(this.n).filter((s) => s !== seat) : [f.to];
    this.offer = { from: seat, give: f.give, get: f.get, asked: new Set(asked), accepted: [] };
  },
  trade(seat, f) {
    const { offer } = this;
    offer.asked.delete(seat);
    if (f.accept) offer.accepted.push(seat);
    if (offer.asked.size > 0) return;
    const to = range(this.n - 1).map((i) => (offer.from + 1 + i) % this.n).find((s) => offer.accepted.includes(s));
    this.offer = null;
    this.accepted = to === undefined ? null : { ...offer, to };
  },
  end_turn() { this.ending = true; },
  discard(seat, f) {
    this.give(seat, f.cards, -1);
    this.discarding.splice(this.discarding.indexOf(seat), 1);
    this.moving = this.discarding.length === 0;
  },
};

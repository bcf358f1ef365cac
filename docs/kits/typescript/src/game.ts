// One decision: what the bot sees, what it may do, and what it remembers.

import { isDeepStrictEqual } from "node:util";

import { EDGES, EDGE_VERTICES, HEXES, HEX_VERTICES, VERTEX_EDGES, VERTEX_HEXES, VERTEX_NEIGHBORS, VERTICES } from "./board.ts";
import type { Action, Counts, Kind, OfferAction, Request, Resource, Robbery, Town, TurnAction, View } from "./protocol.ts";

export const RESOURCES: Resource[] = ["brick", "lumber", "wool", "grain", "ore"];

export type Purchase = "build_road" | "build_settlement" | "build_city" | "buy_dev";
/** What each purchase costs, by the type of its action. */
export const COSTS: Record<Purchase, Counts> = {
  build_road: { brick: 1, lumber: 1 },
  build_settlement: { brick: 1, lumber: 1, wool: 1, grain: 1 },
  build_city: { ore: 3, grain: 2 },
  buy_dev: { ore: 1, wool: 1, grain: 1 },
};

/** The types of the actions that play a development card. */
export const CARD_TYPES = ["play_knight", "play_roadworks", "play_windfall", "play_embargo"];

const maxRoads = 15, maxSettlements = 5, maxCities = 4, maxOffers = 5, maxTalk = 240;

/** Returns the counts as pairs, without resources that are missing. */
export const entries = (counts: Counts) => Object.entries(counts) as [Resource, number][];

/** Returns the number of cards. */
export const total = (counts: Counts) => entries(counts).reduce((sum, [, n]) => sum + n, 0);

const range = (n: number) => Array.from({ length: n }, (_, i) => i);

/**
 * What a bot has done in the current turn. Views do not show it. The server keeps one
 * memory for each match, and passes it to each Game.
 */
export class Memory {
  turn = 0;
  devPlayed = false;
  offers = 0;
  talked = false;
  sent: Action[] = []; // the actions of this turn
  latest?: Request; // the request that was answered last

  /** Forgets the previous turn. */
  begin(turn: number): void {
    if (turn !== this.turn) Object.assign(this, new Memory(), { turn });
  }

  /** Returns whether the arena repeats its latest request because the connection was lost. */
  repeated(request: Request): boolean {
    return this.latest?.id === request.id && isDeepStrictEqual([this.latest.kind, this.latest.view], [request.kind, request.view]);
  }

  /** Remembers a request and the action that the bot sends. */
  record(request: Request, action: Action): void {
    const { type, talk } = action as { type?: string; talk?: string };
    this.latest = request;
    this.sent.push(action);
    this.devPlayed ||= CARD_TYPES.includes(type ?? "");
    this.offers += type === "offer_trade" ? 1 : 0;
    this.talked ||= Boolean(talk);
  }
}

/** The game at one decision, as the bot's seat sees it. */
export class Game {
  readonly request: Request;
  readonly memory: Memory;
  readonly kind: Kind;
  readonly view: View;
  readonly seat: number;
  readonly hand: Record<Resource, number>;
  readonly towns: Map<number, Town>; // by vertex
  readonly roads: Map<number, number>; // the seat of each edge with a road
  /** A note about this decision: any JSON value. If the bot runs with --notes, the server writes it to a file. */
  note: unknown;
  readonly #mine: Set<number>;
  #legal?: Set<string>; // the texts of the legal actions, once they are needed

  constructor(request: Request, memory = Object.assign(new Memory(), { turn: request.view.turn })) {
    this.request = request;
    this.memory = memory;
    this.kind = request.kind;
    this.view = request.view;
    this.seat = request.view.seat;
    this.hand = Object.fromEntries(RESOURCES.map((r) => [r, this.view.hand[r] ?? 0])) as Record<Resource, number>;
    this.towns = new Map(this.view.towns.map((town) => [town.vertex, town]));
    this.roads = new Map(this.view.roads.map((road) => [road.edge, road.seat]));
    this.#mine = this.#network(this.roads);
  }

  // What the seat has.

  /** Returns the vertices of the seat's cities, or of its settlements. */
  myTowns(city: boolean): number[] {
    return this.view.towns.filter((town) => town.seat === this.seat && town.city === city).map((town) => town.vertex);
  }

  affords(cost: Counts): boolean {
    return entries(cost).every(([r, n]) => this.hand[r] >= n);
  }

  /** Returns the cards that the hand still needs to pay a cost. */
  missing(cost: Counts): Counts {
    return Object.fromEntries(entries(cost).map(([r, n]) => [r, n - this.hand[r]] as const).filter(([, n]) => n > 0));
  }

  /** Returns the cards that are left if the seat reserves the cards for a cost. */
  spare(cost: Counts): Counts {
    return Object.fromEntries(RESOURCES.map((r) => [r, this.hand[r] - (cost[r] ?? 0)] as const).filter(([, n]) => n > 0));
  }

  /** Returns how many cards of a resource the bank takes for one card. */
  rate(resource: Resource): number {
    const ports = this.view.board.ports.filter((port) => (port.resource ?? resource) === resource &&
      port.vertices.some((v) => this.towns.get(v)?.seat === this.seat));
    return Math.min(4, ...ports.map((port) => port.rate));
  }

  // What hexes yield.

  /** Returns how many of the 36 rolls of two dice make a hex pay. */
  hexPips(hex: number): number {
    const { token } = this.view.board.hexes[hex];
    return token === null ? 0 : 6 - Math.abs(7 - token);
  }

  /** Returns how many of the 36 rolls pay a settlement on a vertex, by resource. It ignores the bandit. */
  pips(vertex: number): Counts {
    const sum: Counts = {};
    for (const h of VERTEX_HEXES[vertex]) {
      const { resource } = this.view.board.hexes[h];
      if (resource !== "desert") sum[resource] = (sum[resource] ?? 0) + this.hexPips(h);
    }
    return sum;
  }

  /** Returns how many cards a seat gets in 36 average rolls, by resource. The bandit's hex pays nothing. */
  production(seat: number): Record<Resource, number> {
    const sum = { brick: 0, lumber: 0, wool: 0, grain: 0, ore: 0 };
    for (const town of this.view.towns) {
      for (const h of VERTEX_HEXES[town.vertex]) {
        const { resource } = this.view.board.hexes[h];
        if (town.seat !== seat || h === this.view.board.bandit || resource === "desert") continue;
        sum[resource] += this.hexPips(h) * (town.city ? 2 : 1);
      }
    }
    return sum;
  }

  // Where the seat may build. These methods ignore the cost.

  /** Returns the vertices that the distance rule leaves open. */
  openVertices(): number[] {
    return range(VERTICES).filter((v) => !this.towns.has(v) && !VERTEX_NEIGHBORS[v].some((w) => this.towns.has(w)));
  }

  settlementSpots(): number[] {
    if (this.kind === "setup") return this.openVertices();
    if (this.myTowns(false).length >= maxSettlements) return [];
    return this.openVertices().filter((v) => this.#mine.has(v));
  }

  citySpots(): number[] {
    return this.myTowns(true).length < maxCities ? this.myTowns(false) : [];
  }

  /** Returns the edges for a road, or for a second road after a first one. */
  roadSpots(after?: number): number[] {
    const roads = after === undefined ? this.roads : new Map(this.roads).set(after, this.seat);
    const reached = after === undefined ? this.#mine : this.#network(roads);
    if ([...roads.values()].filter((seat) => seat === this.seat).length >= maxRoads) return [];
    return range(EDGES).filter((e) => !roads.has(e) && EDGE_VERTICES[e].some((v) => reached.has(v)));
  }

  /** Returns the vertices from which the seat may build: its towns, and the ends of its roads without a rival's town. */
  #network(roads: Map<number, number>): Set<number> {
    const ends = [...roads].filter(([, seat]) => seat === this.seat).flatMap(([e]) => EDGE_VERTICES[e]);
    const towns = [...this.towns.values()].filter((town) => town.seat === this.seat).map((town) => town.vertex);
    return new Set([...ends, ...towns].filter((v) => (this.towns.get(v)?.seat ?? this.seat) === this.seat));
  }

  /** Returns the other seats that have a town on a hex. */
  rivalsOn(hex: number): number[] {
    const seats = HEX_VERTICES[hex].flatMap((v) => this.towns.get(v)?.seat ?? []);
    return [...new Set(seats)].filter((seat) => seat !== this.seat).sort((a, b) => a - b);
  }

  // What the seat may answer.

  /** Returns every legal action, without talk and without offers to other seats. */
  legal(): Action[] {
    switch (this.kind) {
      case "setup":
        return this.settlementSpots().flatMap((settlement) => VERTEX_EDGES[settlement].map((road) => ({ settlement, road })));
      case "discard":
        return this.#discards(RESOURCES, Math.floor(total(this.hand) / 2)).map((cards) => ({ cards }));
      case "bandit":
        return this.robberies();
      case "trade":
        return this.affords(this.view.openTrade!.get) ? [{ accept: false }, { accept: true }] : [{ accept: false }];
      case "turn":
        return [...this.#builds(), ...this.#bankTrades(), ...this.#cards(), { type: "end_turn" }];
    }
  }

  /** Returns whether an action is legal, including offers and actions with talk. The action must be well-formed. */
  allows(action: Action): boolean {
    const { type, talk } = action as { type?: string; talk?: string };
    if (talk && (this.kind === "bandit" || this.kind === "trade" || type === "offer_trade" || type === "end_turn")) {
      if (this.memory.talked || [...talk].length > maxTalk) return false;
    }
    if (this.kind === "turn" && type === "offer_trade") return this.#allowsOffer(action as OfferAction);
    this.#legal ??= new Set(this.legal().map(plain));
    return this.#legal.has(plain(action));
  }

  #allowsOffer({ give, get, to }: OfferAction): boolean {
    for (const side of [give, get]) {
      if (!entries(side).every(([r, n]) => RESOURCES.includes(r) && n >= 0 && n <= 65535) || total(side) === 0) return false;
    }
    const rival = to === undefined || (to !== this.seat && to >= 0 && to < this.view.seatCount);
    return rival && this.memory.offers < maxOffers && this.affords(give);
  }

  /** Returns the moves of the bandit. */
  robberies(): Robbery[] {
    const hexes = range(HEXES).filter((hex) => hex !== this.view.board.bandit);
    return [...hexes.map((hex) => ({ hex })), ...hexes.flatMap((hex) => this.rivalsOn(hex).map((victim) => ({ hex, victim })))];
  }

  #builds(): TurnAction[] {
    const actions: TurnAction[] = [];
    if (this.affords(COSTS.build_road)) actions.push(...this.roadSpots().map((edge) => ({ type: "build_road" as const, edge })));
    if (this.affords(COSTS.build_settlement)) {
      actions.push(...this.settlementSpots().map((vertex) => ({ type: "build_settlement" as const, vertex })));
    }
    if (this.affords(COSTS.build_city)) actions.push(...this.citySpots().map((vertex) => ({ type: "build_city" as const, vertex })));
    if (this.affords(COSTS.buy_dev) && this.view.deckRemaining > 0) actions.push({ type: "buy_dev" });
    return actions;
  }

  #bankTrades(): TurnAction[] {
    return RESOURCES.filter((give) => this.hand[give] >= this.rate(give)).flatMap((give) =>
      RESOURCES.filter((get) => get !== give).map((get) => ({ type: "bank_trade" as const, give, get })));
  }

  #cards(): TurnAction[] {
    const actions: TurnAction[] = [], has = (card: View["devCards"][number]) => this.view.devCards.includes(card);
    if (this.memory.devPlayed) return actions;
    if (has("knight")) actions.push(...this.robberies().map((move) => ({ type: "play_knight" as const, ...move })));
    if (has("roadworks")) {
      const first = this.roadSpots();
      const pairs = first.flatMap((e) => this.roadSpots(e).map((f) => [e, f]));
      actions.push(...[...first.map((e) => [e]), ...pairs].map((edges) => ({ type: "play_roadworks" as const, edges })));
    }
    if (has("windfall")) {
      RESOURCES.forEach((one, i) => RESOURCES.slice(i).forEach((two) =>
        actions.push({ type: "play_windfall", take: one === two ? { [one]: 2 } : { [one]: 1, [two]: 1 } })));
    }
    if (has("embargo")) actions.push(...RESOURCES.map((resource) => ({ type: "play_embargo" as const, resource })));
    return actions;
  }

  /** Returns each way to discard n cards of some resources. */
  #discards([first, ...others]: Resource[], n: number): Counts[] {
    if (first === undefined) return n === 0 ? [{}] : [];
    return range(Math.min(n, this.hand[first]) + 1).flatMap((count) =>
      this.#discards(others, n - count).map((rest) => (count > 0 ? { [first]: count, ...rest } : rest)));
  }
}

/** Returns an action as text, without talk, counts of zero and absent fields, so that equal actions have equal texts. */
function plain(action: Action): string {
  const sorted = (pairs: [string, unknown][]) => pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  const fields = Object.entries(action).filter(([name, value]) => name !== "talk" && value !== null && value !== undefined);
  return JSON.stringify(sorted(fields.map(([name, value]) => {
    const isCounts = typeof value === "object" && !Array.isArray(value);
    return [name, isCounts ? sorted(Object.entries(value).filter(([r, n]) => n !== 0 || !RESOURCES.includes(r as Resource))) : value];
  })));
}

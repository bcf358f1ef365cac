// A sample bot, which beats house:greedy: npx tsx sample_bot.ts [PORT] [--notes FILE]
//
// To write your own bot, change answer(). README.md lists what a Game offers.
import { pathToFileURL } from "node:url";
import {
  type Action, COSTS, type Counts, EDGE_VERTICES, type Game, type Robbery, type TurnAction,
  VERTEX_EDGES, VERTEX_HEXES, VERTEX_NEIGHBORS, entries, run, total,
} from "./src/index.ts";

const values = { build_settlement: 5, build_city: 5, buy_dev: 2.5, build_road: 2.5, end_turn: 0 };
type Plan = Extract<TurnAction, { type: keyof typeof values }>;
const costOf = (plan: Plan): Counts => (plan.type === "end_turn" ? {} : COSTS[plan.type]);

/** Returns the option with the highest rating: the first one, if there are several. */
function best<T>(options: T[], rating: (option: T) => number): T {
  return options.reduce((a, b) => (rating(b) > rating(a) ? b : a));
}

/** Rates a vertex: its pips, and a bonus for resources that the seat lacks. */
function worth(game: Game, vertex: number): number {
  const own = game.production(game.seat), pips = game.pips(vertex);
  return total(pips) + 2 * entries(pips).filter(([resource]) => own[resource] === 0).length;
}

/** Rates a road: the best open vertex at its ends, or one edge further. */
function prospect(game: Game, edge: number): number {
  const open = game.openVertices(), near = EDGE_VERTICES[edge].filter((v) => !game.towns.has(v));
  const all = [...near, ...near.flatMap((v) => VERTEX_NEIGHBORS[v])].filter((v) => open.includes(v));
  return Math.max(0, ...all.map((v) => worth(game, v) - (near.includes(v) ? 0 : 3)));
}

/** Returns the next purchase: the one with the highest value for the time that it takes. */
function goal(game: Game): Plan {
  const plans: Plan[] = [], production = game.production(game.seat);
  const settlements = game.settlementSpots(), roads = game.roadSpots(), cities = game.citySpots();
  if (settlements.length > 0) {
    plans.push({ type: "build_settlement", vertex: best(settlements, (v) => worth(game, v)) });
  } else if (roads.length > 0 && game.myTowns(false).length < 5) {
    plans.push({ type: "build_road", edge: best(roads, (e) => prospect(game, e)) });
  }
  if (cities.length > 0) plans.push({ type: "build_city", vertex: best(cities, (v) => total(game.pips(v))) });
  if (game.view.deckRemaining > 0) plans.push({ type: "buy_dev" });
  if (plans.length === 0) return { type: "end_turn" };
  return best(plans, (plan) => {
    const wait = entries(game.missing(costOf(plan))).reduce((sum, [r, n]) => sum + (n * 36) / (production[r] + 6), 0);
    return values[plan.type] / (4 + wait);
  });
}

/** Rates a move of the bandit by its cost to the rivals, most of all the leader. It avoids the seat's own hexes. */
function harm(game: Game, { hex, victim }: Robbery): number {
  const mine = [...game.myTowns(true), ...game.myTowns(false)].some((v) => VERTEX_HEXES[v].includes(hex));
  const loss = game.hexPips(hex) * game.rivalsOn(hex).reduce((sum, seat) => sum + game.view.scores[seat], 0);
  return loss - (mine ? 1000 : 0) + (victim === undefined ? -1 : game.view.handCounts[victim]) / 100;
}

/** Buys what the plan says, or gets closer to it with a card or a trade. */
function turn(game: Game, plan: Plan, cost: Counts): TurnAction {
  const missing = game.missing(cost), spare = game.spare(cost), legal = game.legal() as TurnAction[];
  if (total(missing) === 0 && game.allows(plan)) return plan;
  const knights = legal.filter((a) => a.type === "play_knight"), roadworks = legal.filter((a) => a.type === "play_roadworks");
  if (knights.length > 0) return best(knights, (move) => harm(game, move));
  if (roadworks.length > 0) return best(roadworks, (a) => a.edges.reduce((sum, e) => sum + 100 + prospect(game, e), 0));
  const helps = (gets: Counts) => entries(gets).every(([r, n]) => n <= (missing[r] ?? 0));
  const help = legal.find((a) => a.type === "play_windfall" && helps(a.take)) ??
    legal.find((a) => a.type === "bank_trade" && helps({ [a.get]: 1 }) && (spare[a.give] ?? 0) >= game.rate(a.give)) ??
    legal.find((a) => a.type === "play_embargo" && helps({ [a.resource]: 1 }));
  if (help) return help;
  const sent = game.memory.sent.map((action) => JSON.stringify(action));
  for (const [want] of entries(missing)) {
    for (const [give] of entries(spare).sort(([, a], [, b]) => b - a)) {
      const offer: TurnAction = { type: "offer_trade", give: { [give]: 1 }, get: { [want]: 1 } };
      if (!missing[give] && game.memory.offers < 3 && !sent.includes(JSON.stringify(offer))) return offer;
    }
  }
  return game.allows({ type: "buy_dev" }) && total(game.hand) > 6 ? { type: "buy_dev" } : { type: "end_turn" };
}

/** Returns the action for one decision. */
export function answer(game: Game): Action {
  if (game.kind === "setup") {
    const settlement = best(game.settlementSpots(), (v) => worth(game, v));
    return { settlement, road: best(VERTEX_EDGES[settlement], (e) => prospect(game, e)) };
  }
  if (game.kind === "bandit") return best(game.robberies(), (move) => harm(game, move));
  const plan = goal(game), cost = costOf(plan), spare = game.spare(cost), missing = game.missing(cost);
  game.note = { plan, missing };
  if (game.kind === "discard") {
    const kept = (cards: Counts) => entries(cards).reduce((sum, [r, n]) => sum + Math.min(n, spare[r] ?? 0), 0);
    return best(game.legal() as { cards: Counts }[], (a) => kept(a.cards));
  }
  if (game.kind === "trade") {
    const offer = game.view.openTrade!;
    const useful = entries(offer.give).some(([r, n]) => n > 0 && missing[r]);
    const payable = entries(offer.get).every(([r, n]) => (spare[r] ?? 0) >= n);
    return { accept: useful && payable && game.view.scores[offer.from] < 8 };
  }
  return turn(game, plan, cost);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) run(answer, { version: "1.0" });

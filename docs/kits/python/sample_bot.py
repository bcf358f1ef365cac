"""A sample bot, which beats house:greedy: python3 sample_bot.py [PORT] [--notes FILE]

To write your own bot, change answer(). README.md lists what a Game offers.
"""
from hexarena_kit import COSTS, EDGE_VERTICES, VERTEX_EDGES, VERTEX_HEXES, VERTEX_NEIGHBORS, run

VALUES = {"build_settlement": 5, "build_city": 5, "buy_dev": 2.5, "build_road": 2.5}


def worth(game, vertex):
    """Rates a vertex: its pips, and a bonus for resources that the seat lacks."""
    own, pips = game.production(game.seat), game.pips(vertex)
    return sum(pips.values()) + sum(2 for resource in pips if own[resource] == 0)


def prospect(game, edge):
    """Rates a road: the best open vertex at its ends, or one edge further."""
    open_vertices, near = game.open_vertices(), [v for v in EDGE_VERTICES[edge] if v not in game.towns]
    far = [w for v in near for w in VERTEX_NEIGHBORS[v]]
    return max([worth(game, v) - 3 * (v not in near) for v in near + far if v in open_vertices] + [0])


def goal(game):
    """Returns the next purchase: the one with the highest value for the time that it takes."""
    plans, production = [], game.production(game.seat)
    if game.settlement_spots():
        plans.append({"type": "build_settlement", "vertex": max(game.settlement_spots(), key=lambda v: worth(game, v))})
    elif game.road_spots() and len(game.my_towns(city=False)) < 5:
        plans.append({"type": "build_road", "edge": max(game.road_spots(), key=lambda e: prospect(game, e))})
    if game.city_spots():
        plans.append({"type": "build_city", "vertex": max(game.city_spots(), key=lambda v: sum(game.pips(v).values()))})
    if game.view["deckRemaining"]:
        plans.append({"type": "buy_dev"})

    def rating(plan):
        wait = sum(n * 36 / (production[r] + 6) for r, n in game.missing(COSTS[plan["type"]]).items())
        return VALUES[plan["type"]] / (4 + wait)
    return max(plans, key=rating, default={"type": "end_turn"})


def harm(game, move):
    """Rates a move of the bandit by its cost to the rivals, most of all the leader. It avoids the seat's own hexes."""
    rivals, mine = game.rivals_on(move["hex"]), game.my_towns(True) + game.my_towns(False)
    loss = game.hex_pips(move["hex"]) * sum(game.view["scores"][seat] for seat in rivals)
    cards = game.view["handCounts"][move["victim"]] if "victim" in move else -1
    return loss - 1000 * any(move["hex"] in VERTEX_HEXES[v] for v in mine) + cards / 100


def turn(game, plan, cost):
    """Buys what the plan says, or gets closer to it with a card or a trade."""
    missing, spare, legal = game.missing(cost), game.spare(cost), game.legal()
    if not missing and plan in legal:
        return plan
    by_type = {action["type"]: [other for other in legal if other["type"] == action["type"]] for action in legal}
    if "play_knight" in by_type:
        return max(by_type["play_knight"], key=lambda move: harm(game, move))
    if "play_roadworks" in by_type:
        return max(by_type["play_roadworks"], key=lambda a: sum(100 + prospect(game, e) for e in a["edges"]))
    for action in by_type.get("play_windfall", []) + by_type.get("bank_trade", []) + by_type.get("play_embargo", []):
        gets = action.get("take") or {action.get("get") or action["resource"]: 1}
        if all(n <= missing.get(r, 0) for r, n in gets.items()):
            if action["type"] != "bank_trade" or spare.get(action["give"], 0) >= game.rate(action["give"]):
                return action
    for want in missing:
        for give in sorted(spare, key=spare.get, reverse=True):
            offer = {"type": "offer_trade", "give": {give: 1}, "get": {want: 1}}
            if give not in missing and game.memory.offers < 3 and offer not in game.memory.sent:
                return offer
    return {"type": "buy_dev"} if "buy_dev" in by_type and sum(game.hand.values()) > 6 else {"type": "end_turn"}


def answer(game):
    """Returns the action for one decision."""
    if game.kind == "setup":
        vertex = max(game.settlement_spots(), key=lambda v: worth(game, v))
        return {"settlement": vertex, "road": max(VERTEX_EDGES[vertex], key=lambda e: prospect(game, e))}
    if game.kind == "bandit":
        return max(game.legal(), key=lambda move: harm(game, move))
    plan = goal(game)
    cost = COSTS.get(plan["type"], {})
    game.note = {"plan": plan, "missing": game.missing(cost)}
    if game.kind == "discard":
        return max(game.legal(), key=lambda a: sum(min(n, game.spare(cost).get(r, 0)) for r, n in a["cards"].items()))
    if game.kind == "trade":
        offer, spare = game.view["openTrade"], game.spare(cost)
        useful = any(n and r in game.missing(cost) for r, n in offer["give"].items())
        payable = all(spare.get(r, 0) >= n for r, n in offer["get"].items())
        return {"accept": useful and payable and game.view["scores"][offer["from"]] < 8}
    return turn(game, plan, cost)


if __name__ == "__main__":
    run(answer, version="1.0")

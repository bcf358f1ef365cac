"""One decision: what the bot sees, what it may do, and what it remembers."""
from __future__ import annotations

import json
from itertools import combinations_with_replacement
from typing import Any, Iterator

from .board import EDGES, EDGE_VERTICES, HEXES, HEX_VERTICES, VERTEX_EDGES, VERTEX_HEXES, VERTEX_NEIGHBORS, VERTICES
from .protocol import Action, Counts, Request

RESOURCES = ["brick", "lumber", "wool", "grain", "ore"]
#: What each purchase costs, by the type of its action.
COSTS: dict[str, Counts] = {
    "build_road": {"brick": 1, "lumber": 1},
    "build_settlement": {"brick": 1, "lumber": 1, "wool": 1, "grain": 1},
    "build_city": {"ore": 3, "grain": 2},
    "buy_dev": {"ore": 1, "wool": 1, "grain": 1},
}
#: The action that plays each development card.
CARD_TYPES = {"knight": "play_knight", "roadworks": "play_roadworks", "windfall": "play_windfall", "embargo": "play_embargo"}
MAX_ROADS, MAX_SETTLEMENTS, MAX_CITIES, MAX_OFFERS, MAX_TALK = 15, 5, 4, 5, 240


class Memory:
    """What a bot has done in the current turn. Views do not show it.

    The server keeps one memory for each match, and passes it to each Game.
    """

    def __init__(self, dev_played: bool = False, offers: int = 0, talked: bool = False, turn: int = 0):
        self.dev_played, self.offers, self.talked, self.turn = dev_played, offers, talked, turn
        self.sent: list[Action] = []  # the actions of this turn
        self.latest: Request | None = None  # the request that was answered last

    def begin(self, turn: int) -> None:
        """Forgets the previous turn."""
        if turn != self.turn:
            self.__init__(turn=turn)

    def repeated(self, request: Request) -> bool:
        """Returns whether the arena repeats its latest request because the connection was lost."""
        return self.latest is not None and all(self.latest[name] == request[name] for name in ("id", "kind", "view"))

    def record(self, request: Request, action: Action) -> None:
        """Remembers a request and the action that the bot sends."""
        self.latest = request
        self.sent.append(action)
        self.dev_played = self.dev_played or action.get("type") in CARD_TYPES.values()
        self.offers += action.get("type") == "offer_trade"
        self.talked = self.talked or bool(action.get("talk"))


class Game:
    """The game at one decision, as the bot's seat sees it."""

    def __init__(self, request: Request, memory: Memory | None = None):
        self.request, self.memory = request, memory or Memory(turn=request["view"]["turn"])
        self.kind, self.view, self.seat = request["kind"], request["view"], request["view"]["seat"]
        self.hand: Counts = {r: self.view["hand"].get(r, 0) for r in RESOURCES}
        self.towns = {town["vertex"]: town for town in self.view["towns"]}
        self.roads = {road["edge"]: road["seat"] for road in self.view["roads"]}
        #: A note about this decision: any JSON value. If the bot runs with --notes, the server writes it to a file.
        self.note: Any = None
        self._mine = self._network(self.roads)
        self._legal: set[str] = set()  # the texts of the legal actions; empty until they are needed

    # What the seat has.

    def my_towns(self, city: bool) -> list[int]:
        """Returns the vertices of the seat's cities, or of its settlements."""
        return [v for v, town in self.towns.items() if town["seat"] == self.seat and town["city"] == city]

    def affords(self, cost: Counts) -> bool:
        return all(self.hand[r] >= n for r, n in cost.items())

    def missing(self, cost: Counts) -> Counts:
        """Returns the cards that the hand still needs to pay a cost."""
        return {r: n - self.hand[r] for r, n in cost.items() if n > self.hand[r]}

    def spare(self, cost: Counts) -> Counts:
        """Returns the cards that are left if the seat reserves the cards for a cost."""
        return {r: n - cost.get(r, 0) for r, n in self.hand.items() if n > cost.get(r, 0)}

    def rate(self, resource: str) -> int:
        """Returns how many cards of a resource the bank takes for one card."""
        rates = [port["rate"] for port in self.view["board"]["ports"] if port.get("resource", resource) == resource
                 and any(v in self.towns and self.towns[v]["seat"] == self.seat for v in port["vertices"])]
        return min(rates + [4])

    # What hexes yield.

    def hex_pips(self, hex: int) -> int:
        """Returns how many of the 36 rolls of two dice make a hex pay."""
        token = self.view["board"]["hexes"][hex]["token"]
        return 6 - abs(7 - token) if token else 0

    def pips(self, vertex: int) -> Counts:
        """Returns how many of the 36 rolls pay a settlement on a vertex, by resource. It ignores the bandit."""
        total: Counts = {}
        for h in VERTEX_HEXES[vertex]:
            if self.hex_pips(h):
                resource = self.view["board"]["hexes"][h]["resource"]
                total[resource] = total.get(resource, 0) + self.hex_pips(h)
        return total

    def production(self, seat: int) -> Counts:
        """Returns how many cards a seat gets in 36 average rolls, by resource. The bandit's hex pays nothing."""
        total = dict.fromkeys(RESOURCES, 0)
        for v, town in self.towns.items():
            for h in VERTEX_HEXES[v]:
                if town["seat"] == seat and h != self.view["board"]["bandit"] and self.hex_pips(h):
                    total[self.view["board"]["hexes"][h]["resource"]] += self.hex_pips(h) * (1 + town["city"])
        return total

    # Where the seat may build. These methods ignore the cost.

    def open_vertices(self) -> list[int]:
        """Returns the vertices that the distance rule leaves open."""
        return [v for v in range(VERTICES) if v not in self.towns and not any(w in self.towns for w in VERTEX_NEIGHBORS[v])]

    def settlement_spots(self) -> list[int]:
        if self.kind == "setup":
            return self.open_vertices()
        if len(self.my_towns(city=False)) >= MAX_SETTLEMENTS:
            return []
        return [v for v in self.open_vertices() if v in self._mine]

    def city_spots(self) -> list[int]:
        return self.my_towns(city=False) if len(self.my_towns(city=True)) < MAX_CITIES else []

    def road_spots(self, after: int | None = None) -> list[int]:
        """Returns the edges for a road, or for a second road after a first one."""
        roads, reached = self.roads, self._mine
        if after is not None:
            roads = {**roads, after: self.seat}
            reached = self._network(roads)
        if sum(seat == self.seat for seat in roads.values()) >= MAX_ROADS:
            return []
        return [e for e in range(EDGES) if e not in roads and any(v in reached for v in EDGE_VERTICES[e])]

    def _network(self, roads: dict[int, int]) -> set[int]:
        """Returns the vertices from which the seat may build: its towns, and the ends of its roads without a rival's town."""
        ends = {v for e, seat in roads.items() if seat == self.seat for v in EDGE_VERTICES[e]}
        ends |= {v for v, town in self.towns.items() if town["seat"] == self.seat}
        return {v for v in ends if v not in self.towns or self.towns[v]["seat"] == self.seat}

    def rivals_on(self, hex: int) -> list[int]:
        """Returns the other seats that have a town on a hex."""
        return sorted({self.towns[v]["seat"] for v in HEX_VERTICES[hex] if v in self.towns} - {self.seat})

    # What the seat may answer.

    def legal(self) -> list[Action]:
        """Returns every legal action, without talk and without offers to other seats."""
        if self.kind == "setup":
            return [{"settlement": v, "road": e} for v in self.settlement_spots() for e in VERTEX_EDGES[v]]
        if self.kind == "discard":
            return [{"cards": cards} for cards in self._discards(RESOURCES, sum(self.hand.values()) // 2)]
        if self.kind == "bandit":
            return self.robberies()
        if self.kind == "trade":
            return [{"accept": False}] + [{"accept": True}] * self.affords(self.view["openTrade"]["get"])
        return self._builds() + self._bank_trades() + self._cards() + [{"type": "end_turn"}]

    def allows(self, action: Action) -> bool:
        """Returns whether an action is legal, including offers and actions with talk. The action must be well-formed."""
        if action.get("talk") and (self.kind in ("bandit", "trade") or action.get("type") in ("offer_trade", "end_turn")):
            if self.memory.talked or len(action["talk"]) > MAX_TALK:
                return False
        if action.get("type") == "offer_trade" and self.kind == "turn":
            return self._allows_offer(action)
        self._legal = self._legal or set(map(_plain, self.legal()))
        return _plain(action) in self._legal

    def _allows_offer(self, offer: Action) -> bool:
        for side in (offer["give"], offer["get"]):
            if not set(side) <= set(RESOURCES) or any(not 0 <= n <= 65535 for n in side.values()) or not any(side.values()):
                return False
        to = offer.get("to")
        rival = to is None or to != self.seat and 0 <= to < self.view["seatCount"]
        return rival and self.memory.offers < MAX_OFFERS and self.affords(offer["give"])

    def robberies(self) -> list[Action]:
        """Returns the moves of the bandit."""
        hexes = [h for h in range(HEXES) if h != self.view["board"]["bandit"]]
        return [{"hex": h} for h in hexes] + [{"hex": h, "victim": seat} for h in hexes for seat in self.rivals_on(h)]

    def _builds(self) -> list[Action]:
        actions: list[Action] = []
        if self.affords(COSTS["build_road"]):
            actions += [{"type": "build_road", "edge": e} for e in self.road_spots()]
        if self.affords(COSTS["build_settlement"]):
            actions += [{"type": "build_settlement", "vertex": v} for v in self.settlement_spots()]
        if self.affords(COSTS["build_city"]):
            actions += [{"type": "build_city", "vertex": v} for v in self.city_spots()]
        if self.affords(COSTS["buy_dev"]) and self.view["deckRemaining"] > 0:
            actions.append({"type": "buy_dev"})
        return actions

    def _bank_trades(self) -> list[Action]:
        return [{"type": "bank_trade", "give": give, "get": get}
                for give in RESOURCES if self.hand[give] >= self.rate(give) for get in RESOURCES if get != give]

    def _cards(self) -> list[Action]:
        if self.memory.dev_played:
            return []
        cards, actions = self.view["devCards"], []
        if "knight" in cards:
            actions += [{"type": "play_knight", **move} for move in self.robberies()]
        if "roadworks" in cards:
            first = self.road_spots()
            actions += [{"type": "play_roadworks", "edges": [e]} for e in first]
            actions += [{"type": "play_roadworks", "edges": [e, f]} for e in first for f in self.road_spots(after=e)]
        if "windfall" in cards:
            for pair in combinations_with_replacement(RESOURCES, 2):
                actions.append({"type": "play_windfall", "take": {r: pair.count(r) for r in pair}})
        if "embargo" in cards:
            actions += [{"type": "play_embargo", "resource": r} for r in RESOURCES]
        return actions

    def _discards(self, resources: list[str], n: int) -> Iterator[Counts]:
        """Yields each way to discard n cards of some resources."""
        if not resources:
            if n == 0:
                yield {}
            return
        for count in range(min(n, self.hand[resources[0]]) + 1):
            for rest in self._discards(resources[1:], n - count):
                yield {resources[0]: count, **rest} if count else rest


def _plain(action: Action) -> str:
    """Returns an action as text, without talk, counts of zero and absent fields, so that equal actions have equal texts."""
    plain = {}
    for name, value in action.items():
        if isinstance(value, dict):
            value = {r: n for r, n in value.items() if n or r not in RESOURCES}
        if name != "talk" and value is not None:
            plain[name] = value
    return json.dumps(plain, sort_keys=True)

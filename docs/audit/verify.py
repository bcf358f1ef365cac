#!/usr/bin/env python3
"""Checks matches and ladders of Hex Arena, as docs/audit.md describes. Needs only Python 3.9.

    verify.py [--platform-key KEY] [--all] FILE...   check records: one per file, or one per line
    verify.py --inclusion PROOF --head HEAD FILE     also check that the record is in the signed log
    verify.py --ladder MODE [--matches] URL          check a whole ladder, from the address of an arena
    verify.py --ladder MODE FILE...                  check a whole ladder, from saved responses
    verify.py --vectors vectors.json                 check the test vectors

PROOF and HEAD are files with the responses of /log/{mode}/inclusion?match=ID
and /log/{mode}/head.

With --ladder, the program repeats every seating, recomputes every rating to the
last bit, and checks that the events are those of the checkpoint. With --matches
it also fetches and checks the record of every match, which takes a long time.
Without a URL, it reads files with the responses of these calls, in any order. If
a file is missing, it skips the checks that need this file:

    /ladder/{mode}/events?from=N       all pages; required
    /ladder/{mode}/checkpoint          the head of the tree, and
    /ladder/{mode}/tile/entries/...    all bundles, to compare the events with the head
    /.well-known/arena.json            the platform key and the beacon, to check ids and rounds
    /log/keys                          to check commitments with published seed keys
    /matches/{id}                      records, one per file or one per line

The program checks no signatures, because Python's standard library has neither
Ed25519 nor BLS. `arena verify` checks the signatures of heads and of the rounds
of the beacon.

It prints one line per record: "ok ID EVENTS", or "DIFFERS ID seq SEQ: the log
has X; expected Y". It stops at the first difference, or continues with --all.
For a ladder it prints "ok ladder-MODE" with counts, or "DIFFERS
ladder-MODE@REVISION: ...". The exit status is 0 if everything verifies, 1 if
something differs, and 2 if a file cannot be read or is not in the expected format.
"""
import base64
import hashlib
import hmac
import json
import math
import re
import sys
import time
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timedelta

RESOURCES = ["brick", "lumber", "wool", "grain", "ore"]
HEXES = ["brick"] * 3 + ["lumber"] * 4 + ["wool"] * 4 + ["grain"] * 4 + ["ore"] * 3 + ["desert"]
TOKENS = [2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 9, 9, 10, 10, 11, 11, 12]
CARDS = ["knight"] * 14 + ["victory_point"] * 5 + ["roadworks"] * 2 + ["windfall"] * 2 + ["embargo"] * 2
PORTS = [(0, 3, None), (11, 16, "brick"), (33, 38, None), (47, 51, "lumber"), (49, 52, None),
         (42, 46, "wool"), (26, 32, "grain"), (10, 15, None), (1, 5, "ore")]
ROAD = {"brick": 1, "lumber": 1}
SETTLEMENT = {"brick": 1, "lumber": 1, "wool": 1, "grain": 1}
CITY = {"grain": 2, "ore": 3}
DEV = {"wool": 1, "grain": 1, "ore": 1}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Differs(Exception):
    """A difference at an event: its seq (0 if it is not in the replay), the value in the log, and the expected value."""

    def __init__(self, seq, log, follows):
        super().__init__("seq %d: the log has %s; expected %s" % (seq, tell(log), tell(follows)))
        self.seq, self.log, self.follows = seq, log, follows


class LadderDiffers(Differs):
    """A difference at an event of a ladder, with the event's revision."""

    def __init__(self, mode, revision, log, follows):
        super().__init__(0, log, follows)
        self.revision, self.args = revision, ("ladder-%s@%d: the log has %s; expected %s" % (mode, revision, tell(log), tell(follows)),)


class Malformed(Exception):
    """An answer or a record does not have the required shape."""


class Illegal(Exception):
    """An answer breaks a rule. The text is the reason code."""


def tell(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- strict JSON ---

def parse(text, deepest=None):
    """Reads one JSON value strictly."""
    def pairs(items):
        result = dict(items)
        if len(result) != len(items):
            raise Malformed("an object has the same key twice")
        return result

    def constant(name):
        raise Malformed(name + " is not JSON")

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant,
                           parse_int=lambda digits: NegativeZero() if digits == "-0" else int(digits))
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails on half a surrogate pair
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None
    if deepest is not None and depth(text) > deepest:
        raise Malformed("nested too deeply")
    return value


def depth(text):
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    now = most = 0
    for sign in re.findall(r"[\[\]{}]", bare):
        now += 1 if sign in "[{" else -1
        most = max(most, now)
    return most


class NegativeZero(int):
    """The number -0. A bot may send -0 instead of 0, but a record may not contain it."""


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


# --- randomness ---

class Draws:
    """The sequence of draws for one purpose."""

    def __init__(self, seed, purpose):
        self.prefix, self.block, self.queue = seed + b"\0" + purpose.encode() + b"\0", 0, []

    def draw(self):
        if not self.queue:
            digest = hashlib.sha256(self.prefix + self.block.to_bytes(8, "big")).digest()
            self.queue = [int.from_bytes(digest[i:i + 4], "big") for i in range(0, 32, 4)]
            self.block += 1
        return self.queue.pop(0)

    def uniform(self, n):
        limit = 2 ** 32 - 2 ** 32 % n
        while True:
            drawn = self.draw()
            if drawn < limit:
                return drawn % n


def shuffled(seed, purpose, items):
    items, draws = list(items), Draws(seed, purpose)
    for i in range(len(items) - 1, 0, -1):
        j = draws.uniform(i + 1)
        items[i], items[j] = items[j], items[i]
    return items


def layout(seed):
    """Returns resources and tokens by hex. The desert's token is 0."""
    resources = shuffled(seed, "board/resources", HEXES)
    tokens = shuffled(seed, "board/tokens", TOKENS)
    return resources, [0 if r == "desert" else tokens.pop(0) for r in resources]


def match_id(platform_key, mode, revision, index):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "hexarena:%s:%s:%d:%d" % (platform_key, mode, revision, index)))


def sha256(data):
    return hashlib.sha256(data).digest()


def joint(server_seed, nonces):
    """Returns the seed of a match without a beacon."""
    return sha256(server_seed + b"".join(b"\0" + n.encode() for n in nonces))


def with_beacon(server_seed, randomness):
    """Returns the seed of a match whose table names a round of the beacon."""
    return sha256(b"hexarena/seed/2\0" + server_seed + randomness)


def randomness_of(beacon):
    """Returns the randomness of proof.beacon. Does not check the BLS signature, because arena verify does that."""
    if not re.fullmatch("[0-9a-f]{96}", beacon["signature"]):
        raise Differs(0, "the signature " + beacon["signature"], "48 bytes in lower-case hex")
    randomness = sha256(bytes.fromhex(beacon["signature"]))
    if randomness.hex() != beacon["randomness"]:
        raise Differs(0, "the randomness " + beacon["randomness"], randomness.hex() + ", the SHA-256 of the signature")
    return randomness


# --- the board's geometry ---

def geometry():
    corners = [(0, -2), (1, -1), (1, 1), (0, 2), (-1, 1), (-1, -1)]
    hexes = [[(2 * c + [2, 1, 0, 1, 2][r] + x, 3 * r + y) for x, y in corners]
             for r, n in enumerate([3, 4, 5, 4, 3]) for c in range(n)]
    points = sorted({p for h in hexes for p in h}, key=lambda p: (p[1], p[0]))
    number = {p: i for i, p in enumerate(points)}
    hexes = [[number[p] for p in h] for h in hexes]
    edges = sorted({tuple(sorted((h[i], h[(i + 1) % 6]))) for h in hexes for i in range(6)})
    return hexes, edges


HEX_VERTICES, EDGES = geometry()
AT = [[e for e, ends in enumerate(EDGES) if v in ends] for v in range(54)]  # edges at a vertex
NEXT = [[a + b - v for a, b in (EDGES[e] for e in AT[v])] for v in range(54)]


# --- reading answers ---

SCHEMA = {  # fields by kind or type; "?" marks an optional field, a number is an upper limit
    "setup": [("settlement", 54), ("road", 72)],
    "build_road": [("edge", 72)], "build_settlement": [("vertex", 54)], "build_city": [("vertex", 54)],
    "buy_dev": [], "end_turn": [], "play_knight": [("hex", 19), ("victim?", 4)], "play_roadworks": [("edges", "edges")],
    "play_windfall": [("take", "counts")], "play_embargo": [("resource", "resource")],
    "bank_trade": [("give", "resource"), ("get", "resource")],
    "offer_trade": [("give", "counts"), ("get", "counts"), ("to?", 4)],
    "discard": [("cards", "counts")], "bandit": [("hex", 19), ("victim?", 4)], "trade": [("accept", "bool")],
}
TURNS = {"build_road", "build_settlement", "build_city", "buy_dev", "end_turn", "play_knight", "play_roadworks",
         "play_windfall", "play_embargo", "bank_trade", "offer_trade"}
SOCIAL = {"offer_trade", "end_turn", "bandit", "trade"}


class Reader:
    """Reads the fields of an action. Raises Malformed, or Illegal with the first broken rule."""

    def __init__(self, kind, action):
        if not isinstance(action, dict):
            raise Malformed("the action is not an object")
        self.action, self.reason, self.fields, self.known = action, None, {}, set()
        self.type = kind
        if kind == "turn":
            self.known.add("type")
            if not isinstance(action.get("type"), str):
                raise Malformed("type is not a string")
            self.type = action["type"]
            if self.type not in TURNS:
                raise Illegal("unknown_type")
        for name, shape in SCHEMA[self.type]:
            self.field(name, shape)
        self.talk = self.read_talk() if self.type in SOCIAL else ""
        if self.reason:
            raise Illegal(self.reason)

    def refuse(self, reason):
        self.reason = self.reason or reason

    def field(self, name, shape):
        optional, name = name.endswith("?"), name.rstrip("?")
        self.known.add(name)
        value = self.action.get(name)
        if value is None:
            if not optional:
                raise Malformed(name + " is missing")
            self.fields[name] = None
        elif shape == "bool":
            if not isinstance(value, bool):
                raise Malformed(name + " has the wrong type")
            self.fields[name] = value
        elif shape == "resource":
            if not isinstance(value, str):
                raise Malformed(name + " has the wrong type")
            if value not in RESOURCES:
                self.refuse("unknown_resource")
            self.fields[name] = value
        elif shape == "counts":
            self.fields[name] = self.counts(value)
        elif shape == "edges":
            if not isinstance(value, list):
                raise Malformed(name + " has the wrong type")
            if len(value) not in (1, 2):
                self.refuse("edge_count")
            self.fields[name] = [self.number(v, 72) for v in value]
        else:
            self.fields[name] = self.number(value, shape)

    def number(self, value, limit):
        if not is_int(value):
            raise Malformed("not an integer")
        if not 0 <= value < limit:
            self.refuse("out_of_range")
        return value

    def counts(self, value):
        if not isinstance(value, dict):
            raise Malformed("not an object of counts")
        if not all(is_int(n) for n in value.values()):
            raise Malformed("a count is not an integer")
        for name, n in value.items():
            if name not in RESOURCES:
                self.refuse("unknown_resource")
            elif n < 0:
                self.refuse("negative_count")
            elif n > 50000:
                self.refuse("out_of_range")
        return {name: n for name, n in value.items() if n}

    def read_talk(self):
        self.known.add("talk")
        talk = self.action.get("talk")
        if talk is not None and not isinstance(talk, str):
            raise Malformed("talk is not a string")
        if len(talk or "") > 240:
            self.refuse("talk_too_long")
        return talk or ""


# --- the game ---

class Game:
    """The state and the rules of one game."""

    def __init__(self, seed, seats):
        self.n, self.resources, self.tokens = seats, *layout(seed)
        self.deck = shuffled(seed, "deck", CARDS)
        self.dice, self.steals = Draws(seed, "dice"), Draws(seed, "steal")
        self.hands = [dict.fromkeys(RESOURCES, 0) for _ in range(seats)]
        self.roads, self.settlements, self.cities = [[set() for _ in range(seats)] for _ in range(3)]
        self.devs, self.bought = [[] for _ in range(seats)], [[] for _ in range(seats)]
        self.knights, self.longest = [0] * seats, [0] * seats
        self.bandit, self.drawn, self.turn, self.scored, self.seat = self.resources.index("desert"), 0, 0, 0, 0
        self.holder = {"longestRoad": None, "largestArmy": None}
        self.setup = list(range(seats)) + list(range(seats - 1, -1, -1))
        self.discarding, self.moving, self.ending, self.played, self.offers = [], False, False, False, 0
        self.offer, self.accepted, self.robbery, self.talked, self.over = None, None, None, set(), False

    def towns(self, seat):
        return self.settlements[seat] | self.cities[seat]

    def owner(self, vertex):
        return next((s for s in range(self.n) if vertex in self.towns(s)), None)

    def free(self, vertex):
        return all(self.owner(v) is None for v in [vertex] + NEXT[vertex])

    def ends(self, seat, roads=None):
        return {v for e in (self.roads[seat] if roads is None else roads) for v in EDGES[e]}

    def score(self, seat):
        return (len(self.settlements[seat]) + 2 * len(self.cities[seat]) + 2 * list(self.holder.values()).count(seat)
                + (self.devs[seat] + self.bought[seat]).count("victory_point"))

    def total(self, seat):
        return sum(self.hands[seat].values())

    def rate(self, seat, resource):
        rates = [4]
        for a, b, kind in PORTS:
            if {a, b} & self.towns(seat) and kind in (None, resource):
                rates.append(3 if kind is None else 2)
        return min(rates)

    def owed(self):
        """Returns the kind of the pending decisions and the seats that must make them."""
        if self.setup:
            return "setup", [self.setup[0]]
        if self.offer:
            return "trade", sorted(self.offer["asked"])
        if self.discarding:
            return "discard", list(self.discarding)
        return ("bandit" if self.moving else "turn"), [self.seat]

    # Legality checks. Each raises Illegal with the first reason.

    def check(self, seat, kind, f):
        getattr(self, "check_" + kind)(seat, f)

    def pay(self, seat, cost):
        if any(self.hands[seat][r] < n for r, n in cost.items()):
            raise Illegal("not_enough_cards")

    def check_setup(self, seat, f):
        self.crowded(f["settlement"])
        if f["settlement"] not in EDGES[f["road"]]:
            raise Illegal("road_not_at_settlement")

    def crowded(self, vertex):
        if self.owner(vertex) is not None:
            raise Illegal("vertex_taken")
        if not self.free(vertex):
            raise Illegal("distance_rule")

    def check_build_road(self, seat, f):
        self.connected(seat, f["edge"], self.roads[seat], 14)
        self.pay(seat, ROAD)

    def connected(self, seat, edge, roads, most):
        if len(self.roads[seat]) > most:
            raise Illegal("no_roads_left")
        self.reaches(seat, edge, roads)

    def reaches(self, seat, edge, roads):
        if edge in roads or any(edge in r for r in self.roads):
            raise Illegal("edge_taken")
        mine = self.ends(seat, roads)
        if not any(self.owner(v) == seat or self.owner(v) is None and v in mine for v in EDGES[edge]):
            raise Illegal("road_blocked" if mine & set(EDGES[edge]) else "road_not_connected")

    def check_build_settlement(self, seat, f):
        if len(self.settlements[seat]) >= 5:
            raise Illegal("no_settlements_left")
        self.crowded(f["vertex"])
        if f["vertex"] not in self.ends(seat):
            raise Illegal("settlement_not_connected")
        self.pay(seat, SETTLEMENT)

    def check_build_city(self, seat, f):
        if len(self.cities[seat]) >= 4:
            raise Illegal("no_cities_left")
        if f["vertex"] not in self.settlements[seat]:
            raise Illegal("not_your_settlement")
        self.pay(seat, CITY)

    def check_buy_dev(self, seat, f):
        if self.drawn == len(CARDS):
            raise Illegal("deck_empty")
        self.pay(seat, DEV)

    def holds(self, seat, card):
        if card not in self.devs[seat]:
            raise Illegal("dev_bought_this_turn" if card in self.bought[seat] else "no_dev_card")
        if self.played:
            raise Illegal("dev_already_played")

    def check_play_knight(self, seat, f):
        self.holds(seat, "knight")
        self.check_bandit(seat, f)

    def check_bandit(self, seat, f):
        victim = f["victim"]
        if f["hex"] == self.bandit:
            raise Illegal("bandit_must_move")
        if victim is None:
            return
        if victim >= self.n:
            raise Illegal("victim_not_playing")
        if victim == seat:
            raise Illegal("victim_self")
        if not self.towns(victim) & set(HEX_VERTICES[f["hex"]]):
            raise Illegal("victim_not_on_hex")

    def check_play_roadworks(self, seat, f):
        self.holds(seat, "roadworks")
        edges, roads = f["edges"], self.roads[seat]
        if len(edges) == 1:
            self.connected(seat, edges[0], roads, 14)
            return
        if edges[0] == edges[1]:
            raise Illegal("duplicate_edge")
        self.connected(seat, edges[0], roads, 13)
        self.reaches(seat, edges[1], roads | {edges[0]})

    def check_play_windfall(self, seat, f):
        self.holds(seat, "windfall")
        if sum(f["take"].values()) != 2:
            raise Illegal("windfall_count")

    def check_play_embargo(self, seat, f):
        self.holds(seat, "embargo")

    def check_bank_trade(self, seat, f):
        if f["give"] == f["get"]:
            raise Illegal("same_resource")
        self.pay(seat, {f["give"]: self.rate(seat, f["give"])})

    def check_offer_trade(self, seat, f):
        if self.offers >= 5:
            raise Illegal("too_many_offers")
        if not f["give"] or not f["get"]:
            raise Illegal("empty_side")
        if f["to"] is not None and f["to"] >= self.n:
            raise Illegal("to_not_playing")
        if f["to"] == seat:
            raise Illegal("offer_to_self")
        self.pay(seat, f["give"])

    def check_end_turn(self, seat, f):
        pass

    def check_discard(self, seat, f):
        if sum(f["cards"].values()) != self.total(seat) // 2:
            raise Illegal("discard_count")
        self.pay(seat, f["cards"])

    def check_trade(self, seat, f):
        if f["accept"]:
            self.pay(seat, self.offer["get"])

    # Effects of actions.

    def act(self, seat, kind, f):
        getattr(self, "do_" + kind)(seat, f)

    def give(self, seat, cards, sign=1):
        for r, n in cards.items():
            self.hands[seat][r] += sign * n

    def do_setup(self, seat, f):
        if self.settlements[seat]:
            for h, vertices in enumerate(HEX_VERTICES):
                if f["settlement"] in vertices and self.resources[h] != "desert":
                    self.hands[seat][self.resources[h]] += 1
        self.settlements[seat].add(f["settlement"])
        self.roads[seat].add(f["road"])
        self.setup.pop(0)
        self.ending = not self.setup

    def do_build_road(self, seat, f):
        self.give(seat, ROAD, -1)
        self.lay(seat, [f["edge"]])

    def lay(self, seat, edges):
        self.roads[seat] |= set(edges)
        self.longest[seat] = self.longest_road(seat)

    def longest_road(self, seat):
        stops = set().union(*(self.towns(s) for s in range(self.n) if s != seat))

        def on(vertex, left, first):
            if vertex in stops and not first:
                return 0
            return max([0] + [1 + on(EDGES[e][0] + EDGES[e][1] - vertex, left - {e}, False) for e in AT[vertex] if e in left])

        return max([0] + [on(v, frozenset(self.roads[seat]), True) for v in self.ends(seat)])

    def do_build_settlement(self, seat, f):
        self.give(seat, SETTLEMENT, -1)
        self.settlements[seat].add(f["vertex"])
        self.scored = self.turn
        self.longest = [self.longest_road(s) for s in range(self.n)]  # the new town may cut the roads of other seats

    def do_build_city(self, seat, f):
        self.give(seat, CITY, -1)
        self.settlements[seat].remove(f["vertex"])
        self.cities[seat].add(f["vertex"])
        self.scored = self.turn

    def do_buy_dev(self, seat, f):
        self.give(seat, DEV, -1)
        self.bought[seat].append(self.deck[self.drawn])
        if self.deck[self.drawn] == "victory_point":
            self.scored = self.turn
        self.drawn += 1

    def spend(self, seat, card):
        self.devs[seat].remove(card)
        self.played = True

    def do_play_knight(self, seat, f):
        self.spend(seat, "knight")
        self.knights[seat] += 1
        self.do_bandit(seat, f)

    def do_bandit(self, seat, f):
        self.bandit, self.moving = f["hex"], False
        if f["victim"] is not None and self.total(f["victim"]):
            self.robbery = (seat, f["victim"])

    def do_play_roadworks(self, seat, f):
        self.spend(seat, "roadworks")
        self.lay(seat, f["edges"])

    def do_play_windfall(self, seat, f):
        self.spend(seat, "windfall")
        self.give(seat, f["take"])

    def do_play_embargo(self, seat, f):
        self.spend(seat, "embargo")
        for s, n in enumerate(self.collected(seat, f["resource"])):
            self.hands[s][f["resource"]] -= n
            self.hands[seat][f["resource"]] += n

    def collected(self, seat, resource):
        return [0 if s == seat else self.hands[s][resource] for s in range(self.n)]

    def do_bank_trade(self, seat, f):
        self.hands[seat][f["give"]] -= self.rate(seat, f["give"])
        self.hands[seat][f["get"]] += 1

    def do_offer_trade(self, seat, f):
        self.offers += 1
        asked = [s for s in range(self.n) if s != seat] if f["to"] is None else [f["to"]]
        self.offer = {"from": seat, "give": f["give"], "get": f["get"], "asked": set(asked), "accepted": []}

    def do_trade(self, seat, f):
        offer = self.offer
        offer["asked"].discard(seat)
        if f["accept"]:
            offer["accepted"].append(seat)
        if not offer["asked"]:
            order = [(offer["from"] + 1 + i) % self.n for i in range(self.n - 1)]
            to = next((s for s in order if s in offer["accepted"]), None)
            self.offer, self.accepted = None, (dict(offer, to=to) if to is not None else None)

    def do_end_turn(self, seat, f):
        self.ending = True

    def do_discard(self, seat, f):
        self.give(seat, f["cards"], -1)
        self.discarding.remove(seat)
        self.moving = not self.discarding

    def default(self, seat, kind):
        if kind == "setup":
            vertex = next(v for v in range(54) if self.free(v))
            return {"settlement": vertex, "road": AT[vertex][0]}
        if kind == "turn":
            return {"type": "end_turn"}
        if kind == "bandit":
            return {"hex": 0 if self.bandit else 1}
        if kind == "trade":
            return {"accept": False}
        hand, cards = dict(self.hands[seat]), {}
        for _ in range(self.total(seat) // 2):
            top = max(RESOURCES, key=lambda r: hand[r])  # the first resource wins a tie
            hand[top] -= 1
            cards[top] = cards.get(top, 0) + 1
        return {"cards": cards}

    # Events that follow without a decision.

    def follows(self):
        """Applies the next event that follows without a decision. Returns its (kind, seat, data), or None if no event follows."""
        if self.robbery:
            (thief, victim), self.robbery = self.robbery, None
            drawn = self.steals.uniform(self.total(victim))
            cards = [r for r in RESOURCES for _ in range(self.hands[victim][r])]
            self.hands[victim][cards[drawn]] -= 1
            self.hands[thief][cards[drawn]] += 1
            return "steal", thief, {"victim": victim}
        if self.accepted:
            t, self.accepted = self.accepted, None
            for seat, gives, gets in ((t["from"], t["give"], t["get"]), (t["to"], t["get"], t["give"])):
                self.give(seat, gives, -1)
                self.give(seat, gets)
            return "trade", t["from"], {"from": t["from"], "to": t["to"], "give": t["give"], "get": t["get"]}
        for award, strength, least in (("longestRoad", self.longest, 5), ("largestArmy", self.knights, 3)):
            before, to = self.holder[award], self.rightful(award, strength, least)
            if before != to:
                self.holder[award], self.scored = to, self.turn
                return "award", to, {"award": award, "from": before, "to": to}
        if self.turn and self.score(self.seat) >= 10:
            return self.end("win")
        if not self.ending:
            return None
        if self.turn >= self.scored + 60:
            return self.end("stalemate")
        return self.end("turn_cap") if self.turn >= 1000 else self.roll()

    def rightful(self, award, strength, least):
        most, holder = max(strength), self.holder[award]
        if most < least:
            return None
        if holder is not None and strength[holder] == most:
            return holder
        return strength.index(most) if strength.count(most) == 1 else None

    def end(self, reason):
        self.over = True
        scores = [self.score(s) for s in range(self.n)]
        rank = [99 if reason == "win" and s == self.seat else scores[s] for s in range(self.n)]
        placements = [1 + sum(other > own for other in rank) for own in rank]
        return "end", None, {"reason": reason, "scores": scores, "placements": placements}

    def roll(self):
        self.devs[self.seat] += self.bought[self.seat]
        self.bought[self.seat] = []
        self.seat = (self.seat + 1) % self.n if self.turn else 0
        self.turn, self.ending, self.played, self.offers, self.talked = self.turn + 1, False, False, 0, set()
        dice = [self.dice.uniform(6) + 1, self.dice.uniform(6) + 1]
        for h, token in enumerate(self.tokens):
            if token == sum(dice) and h != self.bandit:
                for s in range(self.n):
                    around = set(HEX_VERTICES[h])
                    n = len(self.settlements[s] & around) + 2 * len(self.cities[s] & around)
                    self.hands[s][self.resources[h]] += n
        if sum(dice) == 7:
            self.discarding = [s for s in range(self.n) if self.total(s) > 7]
            self.moving = not self.discarding
        return "roll", self.seat, {"turn": self.turn, "dice": dice}


# --- the record ---

SHAPES = {  # the fields of an event's data by kind
    "board": {"hexes", "ports", "bandit"}, "roll": {"turn", "dice"},
    "action": {"decision", "kind", "action", "default", "elapsedMs"},
    "steal": {"victim"}, "trade": {"from", "to", "give", "get"}, "award": {"award", "from", "to"},
    "timeout": {"decision", "kind", "cause", "elapsedMs", "strikes"},
    "illegal": {"decision", "kind", "reason", "message", "answer", "elapsedMs", "strikes"},
    "resign": {"strikes"}, "end": {"reason", "scores", "placements"},
}
OPTIONAL = {"action": {"collected"}, "timeout": {"answer"}}


def natural(value):
    return is_int(value) and 0 <= value <= 2 ** 53 and not isinstance(value, NegativeZero)


def is_time(value):
    try:
        return TIME.fullmatch(value) is not None and bool(datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ"))
    except (TypeError, ValueError):
        return False


class Match:
    """Checks one record."""

    def __init__(self, record, platform_key=None):
        self.r, self.platform_key = record, platform_key
        need(isinstance(record, dict), "it is not an object")
        for name in ("id", "mode", "status", "startedAt"):
            need(isinstance(record.get(name), str), name)
        need(record["status"] in ("completed", "aborted"), "status")
        for name in ("players", "replay"):
            need(isinstance(record.get(name), list) and all(isinstance(x, dict) for x in record[name]), name)
        need(len(record["players"]) in (3, 4), "players")
        self.seed = unhex(record.get("seed"), "seed")
        need((record.get("proof") is None) == (record.get("commitment") is None), "commitment and proof")
        self.n, self.next, self.at, self.times, self.decision = len(record["players"]), 0, None, set(), 1
        self.strikes, self.resigned, self.thinking = [0] * self.n, [False] * self.n, [0] * self.n
        self.heard = [False] * self.n  # seats that sent an answer, even an invalid one

    def verify(self):
        """Returns the number of events. Raises Differs at the first difference."""
        if self.r.get("proof") is not None:
            self.chance(self.r["proof"])
        self.game = Game(self.seed, self.n)
        self.board()
        while not self.game.over and self.next < len(self.r["replay"]):
            self.at = None
            self.batch()
            while not self.game.over and all(self.resigned[s] for s in self.game.owed()[1]):
                self.batch()
        self.finish()
        return self.next

    def equal(self, log, follows, seq=0):
        if not same(log, follows):
            raise Differs(seq, log, follows)

    def chance(self, p):
        r = self.r
        need(isinstance(p, dict) and all(k in p for k in ("serverSeed", "nonces", "table", "revision", "index", "seedKey")), "proof")
        server, commitment = unhex(p["serverSeed"], "serverSeed"), unhex(r["commitment"], "commitment")
        need(natural(p["revision"]) and natural(p["index"]) and isinstance(p["seedKey"], str), "proof")
        need(all(isinstance(p[k], list) and all(isinstance(x, str) for x in p[k]) for k in ("nonces", "table")), "proof")
        need("beacon" not in p or fits(p["beacon"], ROUND), "proof.beacon")
        self.equal([len(p["table"]), len(p["nonces"])], [self.n, self.n])
        self.equal(len(set(p["table"])), self.n)
        for nonce in p["nonces"]:
            if not re.fullmatch(r"[\x21-\x7e]{0,64}", nonce):
                raise Differs(0, "the nonce " + nonce, "up to 64 characters of 0x21 to 0x7E")
        if self.platform_key:
            self.equal(r["id"], match_id(self.platform_key, r["mode"], p["revision"], p["index"]))
        self.equal(commitment.hex(), sha256(server).hex())
        if "beacon" in p:
            self.equal(r["seed"], with_beacon(server, randomness_of(p["beacon"])).hex())
        else:
            self.equal(r["seed"], joint(server, p["nonces"]).hex())
        seats = shuffled(self.seed, "seats", range(self.n))
        self.equal([x.get("botId") for x in r["players"]], [p["table"][i] for i in seats])

    # Reading events of the replay.

    def peek(self, follows):
        """Returns the next event after checking that its shape fits its kind."""
        if self.next >= len(self.r["replay"]):
            raise Differs(self.next + 1, "no more events", follows)
        e, seq = self.r["replay"][self.next], self.next + 1
        kind, data = e.get("kind"), e.get("data")
        fits = set(e) - {"seat"} == {"seq", "at", "kind", "data"} and isinstance(kind, str) and kind in SHAPES and isinstance(data, dict) \
            and set(data) - OPTIONAL.get(kind, set()) == SHAPES[kind] and isinstance(e["at"], str) and (e["at"] in self.times or is_time(e["at"])) \
            and all(isinstance(data[k], str) for k in ("reason", "message", "answer") if k in data)
        if not fits:
            raise Differs(seq, e, "an event of the shape that docs/audit.md defines")
        self.equal(e["seq"], seq, seq)
        return e

    def take(self, e):
        if self.at not in (None, e["at"]):
            raise Differs(self.next + 1, e["at"], "the time " + self.at)
        self.at = e["at"]
        self.times.add(e["at"])
        self.next += 1

    def expect(self, kind, seat, data):
        follows = {"kind": kind, "data": data} if seat is None else {"kind": kind, "seat": seat, "data": data}
        e = self.peek(follows)
        if not same({k: v for k, v in e.items() if k not in ("seq", "at")}, follows):
            raise Differs(self.next + 1, e, follows)
        self.take(e)

    def board(self):
        g = self.game
        hexes = [{"id": h, "resource": g.resources[h], "token": g.tokens[h] or None} for h in range(19)]
        ports = [dict({"vertices": [a, b], "rate": 2 if r else 3}, **({"resource": r} if r else {})) for a, b, r in PORTS]
        self.expect("board", None, {"hexes": hexes, "ports": ports, "bandit": g.bandit})

    def batch(self):
        kind, seats = self.game.owed()
        first, self.decision = self.decision, self.decision + len(seats)
        for i, seat in enumerate(seats):
            if self.resigned[seat]:
                self.default(first + i, kind, seat)
            else:
                self.close(first + i, kind, seat)
        while not self.game.over:
            event = self.game.follows()
            if event is None:
                return
            self.expect(*event)

    def close(self, decision, kind, seat):
        follows = "an event that closes decision %d (%s) of seat %d" % (decision, kind, seat)
        e = self.peek(follows)
        d, seq = e["data"], self.next + 1
        if e["kind"] not in ("action", "timeout", "illegal") or not same([e.get("seat"), d["decision"], d["kind"]], [seat, decision, kind]):
            raise Differs(seq, e, follows)
        if e["kind"] == "action":
            self.answer(e, kind, seat)
            return
        if not natural(d["elapsedMs"]):
            raise Differs(seq, e, "an elapsedMs that is a natural number")
        self.equal(d["strikes"], self.strikes[seat] + 1, seq)
        if e["kind"] == "timeout":
            if not isinstance(d["cause"], str) or d["cause"] not in ("deadline", "dropped", "malformed", "oversized") or ("answer" in d) != (d["cause"] == "malformed"):
                raise Differs(seq, e, "a known cause, and an answer only if it is malformed")
        else:
            self.refusal(e, kind, seat)
        self.heard[seat] = self.heard[seat] or e["kind"] == "illegal" or d["cause"] in ("malformed", "oversized")
        self.take(e)
        self.thinking[seat] += d["elapsedMs"]
        self.strikes[seat] += 1
        self.default(decision, kind, seat)
        if self.strikes[seat] == 3:
            self.expect("resign", seat, {"strikes": 3})
            self.resigned[seat] = True

    def judge(self, kind, seat, action):
        """Reads an action. Raises Malformed or Illegal if the action is not legal."""
        a = Reader(kind, action)
        self.game.check(seat, a.type, a.fields)
        if a.talk and seat in self.game.talked:
            raise Illegal("talk_twice")
        return a

    def answer(self, e, kind, seat):
        d, seq = e["data"], self.next + 1
        try:
            a = self.judge(kind, seat, d["action"])
        except (Malformed, Illegal) as error:
            raise Differs(seq, e, "a rejection: " + str(error)) from None
        collected = self.game.collected(seat, a.fields["resource"]) if a.type == "play_embargo" else None
        unknown = [k for k, v in d["action"].items() if k not in a.known or v is None]
        if d["default"] is not False or not natural(d["elapsedMs"]) or unknown or not same(d.get("collected"), collected):
            raise Differs(seq, e, {"default": False, "collected": collected, "unknown fields": unknown})
        self.take(e)
        self.heard[seat] = True
        self.thinking[seat] += d["elapsedMs"]
        self.game.act(seat, a.type, a.fields)
        if a.talk:
            self.game.talked.add(seat)

    def refusal(self, e, kind, seat):
        d, seq = e["data"], self.next + 1
        try:
            answer = parse(d["answer"], 64)
            if not isinstance(answer, dict) or not is_int(answer.get("id")) or "action" not in answer:
                raise Malformed("it has no id or no action")
            self.equal(answer["id"], d["decision"], seq)
            self.judge(kind, seat, answer["action"])
            reason = "no rejection: the answer is legal"
        except Illegal as error:
            reason = str(error)
        except Malformed as error:
            if len(d["answer"].encode()) > 4092:
                return  # the log stores only the beginning of a long answer
            reason = "a timeout: " + str(error)
        self.equal(d["reason"], reason, seq)

    def default(self, decision, kind, seat):
        action = self.game.default(seat, kind)
        self.expect("action", seat, {"decision": decision, "kind": kind, "action": action, "default": True, "elapsedMs": None})
        a = Reader(kind, action)
        self.game.act(seat, a.type, a.fields)

    def finish(self):
        r, over, last = self.r, self.game.over, self.r["replay"][-1]
        if self.next < len(r["replay"]):
            raise Differs(self.next + 1, r["replay"][self.next], "no event after the end of the match")
        if not over and r["status"] == "completed":
            raise Differs(self.next + 1, "no more events", "answers to the owed decisions")
        self.equal(r["status"], "completed" if over else "aborted", self.next)
        if r.get("thinkingMs") is not None:
            self.equal(r["thinkingMs"], self.thinking)
        self.equal([p.get("seat") for p in r["players"]], list(range(self.n)))
        self.equal([p.get("placement") for p in r["players"]], last["data"]["placements"] if over else [None] * self.n)
        if not over:
            self.equal([p.get("ratingDelta") for p in r["players"]], [None] * self.n)
        self.equal(r["startedAt"], r["replay"][0]["at"])
        if over:
            self.equal(r.get("endedAt"), last["at"])
        elif not is_time(r.get("endedAt")):
            raise Differs(0, r.get("endedAt"), "a time")


def need(condition, what):
    if not condition:
        raise Malformed("missing or invalid (see docs/audit.md): " + what)


def unhex(text, what):
    need(isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text) is not None, what)
    return bytes.fromhex(text)


def fits(value, shape):
    """Reports whether a JSON value has a shape: a dict of fields ("?" marks an optional one), a list of one shape, or a test."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            fits(value[name.rstrip("?")], inner) if name.rstrip("?") in value else name.endswith("?") for name, inner in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    return shape(value)


def is_text(value):
    return isinstance(value, str)


def is_bool(value):
    return isinstance(value, bool)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_hash(value):
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


ROUND = {"chain": is_text, "round": natural, "randomness": is_text, "signature": is_text}


def same(a, b):
    """Compares JSON values. Unlike ==, it treats true, 1 and 1.0 as different."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


# --- ratings ---

def nearest(x):
    """Returns the nearest integer. Rounds halves away from zero."""
    whole = math.floor(abs(x))
    return math.copysign(whole + (1 if abs(x) - whole >= 0.5 else 0), x)


def exp(x):
    if x > 709.8 or x < -745.2:
        return math.inf if x > 0 else 0.0
    k = nearest(x * float.fromhex("0x1.71547652b82fep+0"))
    r = (x - k * float.fromhex("0x1.62e42feep-1")) - k * float.fromhex("0x1.a39ef35793c76p-33")
    total = 1.0
    for n in range(13, 0, -1):
        total = 1 + total * r / n
    return math.ldexp(total, int(k))


# The constants of the rating. Each is the double that is nearest to its exact value.
BETA2 = float.fromhex("0x1.15c71c71c71c7p+4")  # (25/6)^2, which is not the square of the double nearest to 25/6
TAU2 = float.fromhex("0x1.c71c71c71c71cp-8")  # (25/300)^2
SIGMA = float.fromhex("0x1.0aaaaaaaaaaabp+3")  # 25/3
KAPPA = float.fromhex("0x1.a36e2eb1c432dp-14")  # 0.0001


def rate(before, placements):
    variance, total = [], 0.0
    for r in before:
        variance.append(r["sigma"] * r["sigma"] + TAU2)
        total += variance[-1] + BETA2
    c, after, everyone = math.sqrt(total), [], range(len(before))
    for i in everyone:
        omega = delta = 0.0
        for q in everyone:
            if placements[q] > placements[i]:
                continue
            chance = 0.0
            for s in everyone:
                if placements[s] >= placements[q]:
                    chance += exp((before[s]["mu"] - before[i]["mu"]) / c)
            chance, drawn = 1 / chance, placements.count(placements[q])
            omega += ((1.0 if q == i else 0.0) - chance) / drawn
            delta += chance * (1 - chance) / drawn
        v, sigma = variance[i], math.sqrt(variance[i])
        shrink = 1 - (sigma / c) * (v / (c * c)) * delta
        after.append({"mu": before[i]["mu"] + v / c * omega, "sigma": sigma * math.sqrt(max(shrink, KAPPA))})
    return after


# --- the signed log ---

LEAF = ["id", "mode", "status", "players", "startedAt", "endedAt", "seed", "replay", "commitment", "proof"]


def canonical(value):
    """Returns the canonical JSON of RFC 8785, for the numbers that occur in records."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{%s}" % ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys)
    if isinstance(value, list):
        return "[%s]" % ",".join(map(canonical, value))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def leaf(record):
    for name in LEAF:
        if name not in record:
            raise Differs(0, "no field " + name, "a record with all fields of a leaf")
    return canonical({name: record[name] for name in LEAF}).encode()


def leaf_hash(record):
    return sha256(b"\0" + leaf(record))


def node(left, right):
    return sha256(b"\1" + left + right)


def root_of(hash, index, size, hashes):
    """Returns the root that an inclusion proof gives for a leaf's hash, or None if the proof has the wrong length."""
    if not 0 <= index < size:
        return None
    last = size - 1
    for other in hashes:
        if last == 0:
            return None
        if index % 2 or index == last:
            hash = node(other, hash)
            while index and index % 2 == 0:
                index, last = index >> 1, last >> 1
        else:
            hash = node(hash, other)
        index, last = index >> 1, last >> 1
    return hash if last == 0 else None


def continues(first, first_root, second, second_root, hashes):
    """Reports whether the proof shows that the second tree begins with the first. Needs 0 < first <= second."""
    hashes = list(hashes)
    if first == second:
        return not hashes and first_root == second_root
    if first & (first - 1) == 0:
        hashes.insert(0, first_root)
    if not hashes:
        return False
    index, last = first - 1, second - 1
    while index % 2:
        index, last = index >> 1, last >> 1
    old = new = hashes[0]
    for other in hashes[1:]:
        if last == 0:
            return False
        if index % 2 or index == last:
            old, new = node(other, old), node(other, new)
            while index and index % 2 == 0:
                index, last = index >> 1, last >> 1
        else:
            new = node(new, other)
        index, last = index >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def read_head(note, log):
    """Returns the (size, root) of a signed head. The log is "log/" or "ladder/" and a mode. Does not check the signatures."""
    text, empty, signatures = note.partition("\n\n")
    lines = text.split("\n")
    need(empty and len(lines) == 3 and lines[0].endswith("/" + log) and re.fullmatch("0|[1-9][0-9]{0,15}", lines[1])
         and re.fullmatch("[A-Za-z0-9+/]{43}=", lines[2]) and "\n\u2014 %s " % lines[0] in "\n" + signatures, "a signed head of " + log)
    root_hash = base64.b64decode(lines[2])
    need(base64.b64encode(root_hash).decode() == lines[2], "the base64 of a root hash")
    return int(lines[1]), root_hash


def check_inclusion(record, proof, note):
    size, root = read_head(note, "log/" + record["mode"])
    found = root_of(leaf_hash(record), proof["index"], proof["size"], [base64.b64decode(h, validate=True) for h in proof["hashes"]])
    if [proof["size"], found] != [size, root]:
        raise Differs(0, "a head of %d results, %s" % (size, root.hex()), "a head of %d results, %s" % (proof["size"], found.hex() if found else "but the proof fits no tree"))


# --- the ladder ---

LONG_REST, MANY_MISSES, KEPT_MISSES, MAX_TABLES = timedelta(hours=3), 10, 128, 500
CHAINS = {  # period and genesis in seconds, by the chain's hash
    "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971": (3, 1692803367),  # drand's quicknet
}


def moment(text):
    """Returns the time of a ladder event, to the millisecond, or None if the text is not such a time."""
    parts = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", text) if isinstance(text, str) else None
    try:
        return parts and datetime.strptime(parts[1], "%Y-%m-%dT%H:%M:%S") + timedelta(milliseconds=int(((parts[2] or "") + "000")[:3]))
    except ValueError:
        return None  # the date does not exist


def is_moment(value):
    return moment(value) is not None


RATING = {"mu": is_number, "sigma": is_number}
EVENTS = {  # the shapes of a ladder's events
    "TablesSeated": {
        "tick": is_moment, "seedKey": is_text, "tables": [{"matchId": is_text, "bots": [is_text], "commitment": is_hash}], "restMs?": natural,
        "candidates?": [{"botId": is_text, "registered": is_moment, "statusChanged": is_moment}],
        "beacon?": {"chain": is_text, "round": natural}},
    "RatingsChanged": {
        "match": is_text, "seats": [{"botId": is_text, "placement": is_int, "before": RATING, "after": RATING, "missed": is_bool}]},
    "MatchVoided": {"match": is_text, "why": is_text},
}


def chain_of(info):
    """Returns {hash: (period, genesis)} of a drand chain. First checks that the hash covers the other fields."""
    need(fits(info, {"public_key": is_text, "period": natural, "genesis_time": natural, "hash": is_hash, "groupHash": is_text,
                     "metadata": {"beaconID": is_text}}), "the beacon of arena.json")
    name = info["metadata"]["beaconID"]
    hashed = sha256(info["period"].to_bytes(4, "big") + info["genesis_time"].to_bytes(8, "big") + bytes.fromhex(info["public_key"])
                    + bytes.fromhex(info["groupHash"]) + (b"" if name == "default" else name.encode()))
    need(hashed.hex() == info["hash"], "the hash of the beacon of arena.json")
    return {info["hash"]: (info["period"], info["genesis_time"])}


def first_round(tick, period, genesis):
    """Returns the first round that appears at least two periods after a tick."""
    wait = tick + timedelta(seconds=2 * period) - datetime(1970, 1, 1) - timedelta(seconds=genesis)
    return 1 + max(0, -(-wait // timedelta(seconds=period)))


def ordinal(rating):
    return rating["mu"] - 3 * rating["sigma"]


def displayed(rating):
    return nearest(ordinal(rating) * 10) / 10


def bits(rating):
    return [float(rating["mu"]).hex(), float(rating["sigma"]).hex()]


class Bot:
    """The state of one bot on a ladder."""

    def __init__(self):
        self.rating, self.match, self.ended = {"mu": 25.0, "sigma": SIGMA}, None, None
        self.misses, self.since, self.missed = 0, None, []

    def streak(self, changed):
        """Returns the consecutive misses since a change of status."""
        if self.misses == 0 or changed < self.since:
            return self.misses
        return next((len(self.missed) - i for i, at in enumerate(self.missed) if at > changed), 0)

    def may_play(self, tick, rest, changed):
        rest = max(rest, LONG_REST) if self.streak(changed) >= MANY_MISSES else rest
        return self.ended is None or tick - self.ended >= rest

    def played(self, missed, at):
        if not missed:
            self.misses, self.since, self.missed = 0, None, []
            return
        self.misses, self.since = self.misses + 1, self.since or at
        self.missed = (self.missed + [at])[-KEPT_MISSES:]


class Ladder:
    """Checks the events of one ladder, in order, from the first."""

    def __init__(self, mode, platform_key=None, keys=None, chains=None):
        self.mode, self.platform_key, self.keys, self.chains = mode, platform_key, keys, chains or CHAINS
        self.bots, self.tables, self.revision, self.entries = {}, {}, 0, []
        self.counts = dict.fromkeys(["rated", "seatings", "tables", "repeated", "rounds", "commitments"], 0)
        self.voids, self.why = {}, {}  # the number of voids by reason, and the reason by revision
        self.rests, self.warnings, self.tick = [], {}, None  # rests in ms; (count, first revision) by kind of warning; the latest tick

    def differs(self, log, follows):
        return LadderDiffers(self.mode, self.revision, log, follows)

    def add(self, event):
        """Checks one event of a page of events."""
        if event["revision"] != self.revision:
            raise self.differs("an event at revision %d" % event["revision"], "one at revision %d" % self.revision)
        try:
            shape, data, at = EVENTS.get(event["type"]), parse(event["data"]), moment(event["at"])
        except Malformed as error:
            raise self.differs("data that cannot be read: " + str(error), "JSON") from None
        if shape is None or at is None or not fits(data, shape):
            raise self.differs(event, "an event of the shape that docs/audit.md defines")
        {"TablesSeated": self.seated, "RatingsChanged": self.rated, "MatchVoided": self.voided}[event["type"]](data, at)
        self.entries.append({"revision": self.revision, "type": event["type"], "sha256": sha256(event["data"].encode()).hex()})
        self.revision += 1

    def bot(self, id):
        return self.bots.setdefault(id, Bot())

    def seated(self, e, at):
        least, sitting = math.inf, set()
        for i, t in enumerate(e["tables"]):
            if len(t["bots"]) != 4 and (len(t["bots"]) != 3 or i < len(e["tables"]) - 1):
                raise self.differs("a table of %d" % len(t["bots"]), "tables of 4, the last of 3 or 4")
            if self.platform_key and t["matchId"] != match_id(self.platform_key, self.mode, self.revision, i):
                raise self.differs("the id " + t["matchId"], "the id " + match_id(self.platform_key, self.mode, self.revision, i))
            if t["matchId"] in self.tables:
                raise self.differs("the match %s twice" % t["matchId"], "one seating")
            for bot in t["bots"]:
                if self.bot(bot).match or bot in sitting:
                    raise self.differs("bot %s seated" % bot, "a free bot: this one is in a match")
                sitting.add(bot)
                if ordinal(self.bot(bot).rating) > least:
                    raise self.differs("bot %s after a bot with a lower rating" % bot, "bots in descending order of rating")
                least = ordinal(self.bot(bot).rating)
            self.tables[t["matchId"]] = dict(t, revision=self.revision, index=i, seedKey=e["seedKey"], beacon=e.get("beacon"), status="running")
        self.repeat(e)
        self.chance(e)
        self.warn(e, at)
        for t in e["tables"]:
            for bot in t["bots"]:
                self.bot(bot).match = t["matchId"]
        self.counts["seatings"] += 1
        self.counts["tables"] += len(e["tables"])

    def repeat(self, e):
        """Seats the listed candidates again. Events from older arenas list no candidates."""
        if "candidates" not in e:
            if self.counts["repeated"]:
                raise self.differs("a seating without candidates", "its candidates: earlier seatings list theirs")
            return
        tick, rest, listed = moment(e["tick"]), timedelta(milliseconds=e.get("restMs", 0)), e["candidates"]
        for c in listed:
            if self.bot(c["botId"]).match:
                raise self.differs("bot %s among the candidates" % c["botId"], "only free bots: it is in a match")
            if not self.bot(c["botId"]).may_play(tick, rest, moment(c["statusChanged"])):
                raise self.differs("bot %s among the candidates" % c["botId"], "only rested bots")
        if len({c["botId"] for c in listed}) < len(listed):
            raise self.differs("a bot among the candidates twice", "each bot once")
        ranked = sorted(listed, key=lambda c: (-ordinal(self.bot(c["botId"]).rating), moment(c["registered"]), c["botId"]))
        ids = [c["botId"] for c in ranked]
        if [c["botId"] for c in listed] != ids:
            raise self.differs("candidates in another order", "candidates in the order of rating, registration and id")
        tables = [ids[i:i + 4] for i in range(0, len(ids), 4) if len(ids) - i >= 3]
        if len(tables) > MAX_TABLES or [t["bots"] for t in e["tables"]] != tables:
            raise self.differs("the tables " + tell([t["bots"] for t in e["tables"]]), "%s, from the listed candidates" % tell(tables))
        self.counts["repeated"] += 1
        if e.get("restMs", 0) not in self.rests:
            self.rests.append(e.get("restMs", 0))

    def chance(self, e):
        """Checks the round that the seating names, and the commitments under a published seed key."""
        if "beacon" in e:
            if e["beacon"]["chain"] not in self.chains:
                raise self.differs("the beacon chain " + e["beacon"]["chain"], "one of " + ", ".join(self.chains))
            first = first_round(moment(e["tick"]), *self.chains[e["beacon"]["chain"]])
            if e["beacon"]["round"] < first:
                raise self.differs("round %d of the beacon" % e["beacon"]["round"], "round %d or later: at least two periods after the tick" % first)
            self.counts["rounds"] += 1
        if self.keys is None:
            return
        if e["seedKey"] not in self.keys:
            raise self.differs("the seed key " + e["seedKey"], "a seed key of /log/keys")
        key = self.keys[e["seedKey"]]["key"]
        if key is None:
            return
        key = bytes.fromhex(key)
        if sha256(key).hex() != self.keys[e["seedKey"]]["hash"]:
            raise self.differs("a seed key with the hash " + self.keys[e["seedKey"]]["hash"], sha256(key).hex())
        for t in e["tables"]:
            commitment = sha256(hmac.new(key, t["matchId"].encode(), hashlib.sha256).digest()).hex()
            if t["commitment"] != commitment:
                raise self.differs("the commitment " + t["commitment"], commitment + ", from the published seed key")
            self.counts["commitments"] += 1

    def warn(self, e, at):
        """Counts the suspicious properties of a seating that follows the rules. An honest operator can cause them too, for example if a clock jumps."""
        found, tick = [], moment(e["tick"])
        if self.tick and tick < self.tick:
            found.append("have an earlier tick than the previous seating")
        if "beacon" in e:
            period, genesis = self.chains[e["beacon"]["chain"]]
            if (at - datetime(1970, 1, 1)).total_seconds() >= genesis + (e["beacon"]["round"] - 1) * period:
                found.append("were stored after their round had appeared")
        elif self.counts["rounds"]:
            found.append("name no round, but an earlier seating does")
        for what in found:
            count, first = self.warnings.get(what, (0, self.revision))
            self.warnings[what] = (count + 1, first)
        self.tick = tick

    def open(self, match):
        if self.tables.get(match, {}).get("status") != "running":
            raise self.differs("the end of match " + match, "no such event: the match is not open")
        return self.tables[match]

    def rated(self, e, at):
        table, seats = self.open(e["match"]), e["seats"]
        if [s["botId"] for s in seats] != table["bots"]:
            raise self.differs([s["botId"] for s in seats], table["bots"])
        placements = [s["placement"] for s in seats]
        if placements != [1 + sum(other < own for other in placements) for own in placements]:
            raise self.differs("the placements %s" % placements, "placements in which only ties skip places, as in 1, 2, 2, 4")
        before = [self.bot(s["botId"]).rating for s in seats]
        for s, was, now in zip(seats, before, rate(before, placements)):
            if bits(s["before"]) != bits(was) or bits(s["after"]) != bits(now):
                raise self.differs("bot %s from %s to %s" % (s["botId"], s["before"], s["after"]), "from %s to %s" % (was, now))
        for s in seats:
            bot = self.bot(s["botId"])
            bot.match, bot.ended, bot.rating = None, at, {name: float(value) for name, value in s["after"].items()}
            bot.played(s["missed"], at)
        table.update(status="completed", seats=seats, closed=self.revision)
        self.counts["rated"] += 1

    def voided(self, e, at):
        table = self.open(e["match"])
        if e["why"] not in ("wall_clock", "operator") and (e["why"] != "beacon" or table["beacon"] is None):
            raise self.differs("a void with the reason " + e["why"], "wall_clock or operator; beacon only if the seating names a round")
        for id in table["bots"]:
            self.bot(id).match = None
            if e["why"] != "beacon":
                self.bot(id).ended = at
        self.why[self.revision] = e["why"]
        table.update(status="aborted", why=e["why"], closed=self.revision)
        self.voids[e["why"]] = self.voids.get(e["why"], 0) + 1

    def check_record(self, record, checked):
        """Compares a record with the ladder. checked is the Match that verified the record."""
        def equal(log, follows):
            checked.equal(log, follows)

        t, p = self.tables.get(record["id"]), record.get("proof")
        if t is None or p is None or record["mode"] != self.mode:
            raise Differs(0, "a match of mode " + record["mode"], "a match that this ladder seated")
        equal([p["revision"], p["index"], p["table"], record["commitment"], p["seedKey"]],
              [t["revision"], t["index"], t["bots"], t["commitment"], t["seedKey"]])
        equal({k: p["beacon"][k] for k in ("chain", "round")} if "beacon" in p else None,
              t["beacon"] and {k: t["beacon"][k] for k in ("chain", "round")})
        equal(record["status"], t["status"])
        if record.get("reason") is not None:
            equal(record["reason"], t.get("why"))
        for s in t.get("seats", []):
            player = next(p for p in record["players"] if p["botId"] == s["botId"])
            delta = nearest((displayed(s["after"]) - displayed(s["before"])) * 10) / 10
            equal(player["placement"], s["placement"])
            if not is_number(player.get("ratingDelta")) or player["ratingDelta"] != delta:
                raise Differs(0, "ratingDelta %s of bot %s" % (tell(player.get("ratingDelta")), s["botId"]), delta)
            if s["missed"] and checked.heard[player["seat"]]:
                raise Differs(0, "a miss of bot " + s["botId"], "no miss: the replay shows that the bot sent an answer")
        entry = self.entries[t["closed"]]
        if "leaf" in entry:
            equal(leaf_hash(record).hex(), entry["leaf"])


# --- the tree of a ladder ---

def root(hashes):
    """Returns the root hash of a tree with these hashes of leaves (RFC 6962)."""
    whole = []  # (size, hash) of complete subtrees, from the left
    for hash in hashes:
        size = 1
        while whole and whole[-1][0] == size:
            size, hash = 2 * size, node(whole.pop()[1], hash)
        whole.append((size, hash))
    if not whole:
        return sha256(b"")
    hash = whole.pop()[1]
    while whole:
        hash = node(whole.pop()[1], hash)
    return hash


def entry_hash(entry):
    return sha256(b"\0" + canonical(entry).encode())


def bundle(data):
    """Returns the entries of a bundle. In a bundle, two bytes with the length precede each entry."""
    entries = []
    while data:
        size = int.from_bytes(data[:2], "big")
        need(len(data) >= 2 + size, "a whole bundle of entries")
        entries.append(parse(data[2:2 + size].decode()))
        need(canonical(entries[-1]).encode() == data[2:2 + size], "entries in canonical JSON")
        data = data[2 + size:]
    return entries


def check_tree(ladder, entries, checkpoint):
    """Checks that the events are those of the tree, and that the tree has the root of the checkpoint."""
    size, wanted = read_head(checkpoint, "ladder/" + ladder.mode)
    if len(ladder.entries) < size:
        raise LadderDiffers(ladder.mode, len(ladder.entries), "no more events", "the %d events of the checkpoint" % size)
    shown = {e.get("revision"): e for e in entries}
    for mine in ladder.entries[:size]:
        theirs = shown.get(mine["revision"])
        need(theirs is not None, "the entry %d" % mine["revision"])
        why = ladder.why.get(mine["revision"])  # None unless the event is a MatchVoided
        if mine["type"] == "RatingsChanged" or why == "wall_clock" or why == "operator" and "leaf" in theirs:  # the match had started
            if not is_hash(theirs.get("leaf")):
                raise LadderDiffers(ladder.mode, mine["revision"], theirs, "an entry with the hash of a leaf")
            mine["leaf"] = theirs["leaf"]
        if not same(mine, theirs):
            raise LadderDiffers(ladder.mode, mine["revision"], "an event that gives the entry " + canonical(mine), canonical(theirs))
    found = root(map(entry_hash, ladder.entries[:size]))
    if found != wanted:
        raise LadderDiffers(ladder.mode, size, "entries with the root hash " + found.hex(), "%s, the root hash of the checkpoint" % wanted.hex())
    return size


# --- vectors, and the command line ---

def check_vectors(v):
    def expect(name, got, want):
        if got != want:
            raise Differs(0, "%s %s" % (name, tell(want)), got)

    def seed(x):
        return bytes.fromhex(x["seed"])

    for x in v["draws"]:
        draws = Draws(seed(x), x["purpose"])
        expect("draws", [draws.draw() for _ in x["draws"]], x["draws"])
    for x in v["uniform"]:
        draws = Draws(seed(x), x["purpose"])
        expect("uniform", [draws.uniform(x["n"]) for _ in x["values"]], x["values"])
    for x in v["seats"]:
        expect("seats", shuffled(seed(x), "seats", range(x["seats"])), x["order"])
    for x in v["boards"]:
        resources, tokens = layout(seed(x))
        expect("board", [resources, tokens, resources.index("desert")], [x["resources"], x["tokens"], x["bandit"]])
    for x in v["decks"]:
        expect("deck", shuffled(seed(x), "deck", CARDS), x["cards"])
    for x in v["dice"]:
        draws = Draws(seed(x), "dice")
        expect("dice", [[draws.uniform(6) + 1, draws.uniform(6) + 1] for _ in x["rolls"]], x["rolls"])
    for x in v["ids"]:
        expect("id", match_id(x["platformKey"], x["mode"], x["revision"], x["index"]), x["id"])
    for x in v["serverSeeds"]:
        server = hmac.new(bytes.fromhex(x["seedKey"]), x["id"].encode(), hashlib.sha256).digest()
        expect("server seed", [server.hex(), sha256(server).hex()], [x["serverSeed"], x["commitment"]])
    for x in v["seeds"]:
        expect("seed", joint(bytes.fromhex(x["serverSeed"]), x["nonces"]).hex(), x["seed"])
    for x in v["ratings"]:
        expect("ratings", rate(x["before"], x["placements"]), x["after"])
    for x in v["matches"]:
        Match(x).verify()
    for x in v["leaves"]:
        expect("leaf", [x.get("leaf", leaf(v["matches"][x["match"]]).decode()), leaf_hash(v["matches"][x["match"]]).hex()],
               [leaf(v["matches"][x["match"]]).decode(), x["hash"]])
    for x in v["heads"]:
        expect("head", read_head(x["head"], "log/" + x["mode"]), (len(x["leaves"]), base64.b64decode(x["root"])))
    for x in v["inclusions"]:
        head = v["heads"][x["head"]]
        hashes, hash = list(map(base64.b64decode, x["hashes"])), bytes.fromhex(head["leaves"][x["index"]])
        expect("inclusion", root_of(hash, x["index"], len(head["leaves"]), hashes), base64.b64decode(head["root"]))
        expect("no inclusion", root_of(hash, x["index"], len(head["leaves"]), hashes + [hash]) == base64.b64decode(head["root"]), False)
    for x in v["consistencies"]:
        a, b, hashes = v["heads"][x["from"]], v["heads"][x["to"]], list(map(base64.b64decode, x["hashes"]))
        roots = [base64.b64decode(h["root"]) for h in (a, b)]
        sizes = [len(h["leaves"]) for h in (a, b)]
        expect("consistency", continues(sizes[0], roots[0], sizes[1], roots[1], hashes), True)
        expect("no consistency", continues(sizes[0], roots[1], sizes[1], roots[1], hashes), False)
    for x in v["forgeries"]:
        record = json.loads(json.dumps(v["matches"][x["match"]]))
        at = record
        for key in x["path"][:-1]:
            at = at[key]
        at[x["path"][-1]] = x["value"]
        try:
            Match(record).verify()
        except Differs as difference:
            expect("seq of the forgery " + x["name"], difference.seq, x["seq"])
        else:
            raise Differs(0, "no difference in the forgery " + x["name"], "a difference at seq %d" % x["seq"])
    for x in v["beaconSeeds"]:
        expect("seed", with_beacon(bytes.fromhex(x["serverSeed"]), randomness_of(x["beacon"])).hex(), x["seed"])
    for x in v["rounds"]:
        expect("round", first_round(moment(x["tick"]), *chain_of(x["beacon"])[x["beacon"]["hash"]]), x["round"])
    for x in v["ladders"]:
        ladder = folded(x, x["events"])
        expect("size", check_tree(ladder, [parse(e) for e in x["entries"]], x["checkpoint"]), len(x["events"]))
        expect("entries", [canonical(e) for e in ladder.entries], x["entries"])
        expect("root", base64.b64encode(root(map(entry_hash, ladder.entries))).decode(), x["root"])
    for x in v["ladderForgeries"]:
        events = list(v["ladders"][x["ladder"]]["events"])
        events[x["event"]] = dict(events[x["event"]], data=x["data"])
        try:
            folded(v["ladders"][x["ladder"]], events)
        except LadderDiffers as difference:
            expect("revision of the forgery " + x["name"], difference.revision, x["revision"])
        else:
            raise Differs(0, "no difference in the forgery " + x["name"], "a difference at revision %d" % x["revision"])
    print("ok", ", ".join("%d %s" % (len(v[name]), name) for name in v))


def folded(x, events):
    """Returns the ladder of a vector after the given events."""
    ladder = Ladder(x["mode"], x["platformKey"], {k["id"]: k for k in x["seedKeys"]}, chain_of(x["beacon"]))
    for event in events:
        ladder.add(event)
    return ladder


def records(name):
    """Returns the records of a file: one for the whole file, or one per line."""
    with open(name, encoding="utf-8", newline="\n") as file:
        text = file.read()
    try:
        return [parse(text)]
    except Malformed:
        lines = [line for line in text.split("\n") if line.strip()]
        return (parse(line) for line in lines)


# --- a whole ladder, from files or from an arena ---

PAGE = {"mode": is_text, "events": [{"revision": natural, "type": is_text, "at": is_text, "data": is_text}]}


class Sources:
    """The responses that are used to check a ladder. A missing response is None or empty."""

    def __init__(self, mode):
        self.mode, self.events, self.entries, self.checkpoint = mode, {}, [], None
        self.platform_key, self.keys, self.chains, self.records = None, None, dict(CHAINS), ()

    def page(self, page):
        need(fits(page, PAGE) and page["mode"] == self.mode, "a page of events of the ladder " + self.mode)
        self.events.update((e["revision"], e) for e in page["events"])

    def arena(self, info):
        self.platform_key = info["publicKey"]
        if info.get("beacon") is not None:
            self.chains.update(chain_of(info["beacon"]))

    def seed_keys(self, keys):
        need(fits(keys, {"keys": [{"id": is_text, "hash": is_hash}]}), "the response of /log/keys")
        self.keys = {k["id"]: dict(k, key=k.get("key")) for k in keys["keys"]}

    def read(self, names):
        """Reads saved responses and recognizes each by its content."""
        matches = []
        for name in names:
            with open(name, "rb") as file:
                data = file.read()
            if data[:1] == b"\0":  # the length of an entry
                self.entries += bundle(data)
            elif "/ladder/" in data.decode().partition("\n")[0] and not data.startswith(b"{"):
                self.checkpoint = data.decode()
            else:
                first = next(iter(records(name)), None)
                if isinstance(first, dict) and "replay" in first:
                    matches.append(name)
                elif isinstance(first, dict) and "publicKey" in first:
                    self.arena(first)
                elif isinstance(first, dict) and "keys" in first:
                    self.seed_keys(first)
                else:
                    self.page(first)
        self.records = (record for name in matches for record in records(name))

    def fetch(self, url, with_matches):
        """Fetches the responses from an arena, up to the size of its checkpoint."""
        url, ladder = url.rstrip("/"), url.rstrip("/") + "/ladder/" + self.mode
        self.arena(parse(get(url + "/.well-known/arena.json").decode()))
        self.checkpoint = get(ladder + "/checkpoint").decode()
        self.seed_keys(parse(get(url + "/log/keys").decode()))  # after the checkpoint: the arena may add a key at any time
        size = read_head(self.checkpoint, "ladder/" + self.mode)[0]
        while len(self.events) < size:
            page = parse(get(ladder + "/events?from=%d&limit=500" % len(self.events)).decode())
            self.page(dict(page, events=[e for e in page["events"] if e["revision"] < size]))
            need(page["events"], "a page with the event %d" % len(self.events))
        for n in range(0, size, 256):
            self.entries += bundle(get(ladder + "/tile/entries/" + tile(n // 256, size - n)))
        if with_matches:
            started = {e["revision"] for e in self.entries if "leaf" in e}
            ids = [parse(e["data"])["match"] for revision, e in sorted(self.events.items()) if revision in started]
            self.records = (parse(get(url + "/matches/" + id).decode()) for id in ids)


def tile(n, left):
    """Returns the path of a tile: its number in groups of three digits, and its width if it is not full."""
    path = "%03d" % (n % 1000)
    while n >= 1000:
        n //= 1000
        path = "x%03d/%s" % (n % 1000, path)
    return path if left >= 256 else "%s.p/%d" % (path, left)


def get(url):
    """Returns the body of a response. Waits if the arena limits the rate of calls."""
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            time.sleep(int(error.headers.get("Retry-After", "1")))


def check_ladder(mode, names, with_matches):
    """Checks a ladder and prints the result."""
    from_arena = len(names) == 1 and re.match("https?://", names[0])
    sources = Sources(mode)
    if from_arena:
        sources.fetch(names[0], with_matches)
    else:
        sources.read(names)
    need(sources.events, "events of the ladder " + mode)
    ladder = Ladder(mode, sources.platform_key, sources.keys, sources.chains)
    for revision in sorted(sources.events):
        ladder.add(sources.events[revision])
    skipped = ["signatures: arena verify checks them"]
    in_tree = matches = 0
    if sources.checkpoint and sources.entries:
        in_tree = check_tree(ladder, sources.entries, sources.checkpoint)
    else:
        skipped.append("the tree: the checkpoint or its entries are missing")
    for record in sources.records:
        m = Match(record, sources.platform_key)
        try:
            m.verify()
            ladder.check_record(record, m)
        except Differs as difference:
            print("DIFFERS", record["id"], str(difference))
            return 1
        matches += 1
    voids = ", ".join("%s %d" % pair for pair in sorted(ladder.voids.items()))
    print("ok ladder-%s %d events, %d in the tree; %d tables; %d rated; %d voided%s; %d of %d seatings repeated; %d rounds; %d commitments; %d matches" % (
        mode, ladder.revision, in_tree, ladder.counts["tables"], ladder.counts["rated"], sum(ladder.voids.values()), voids and " (%s)" % voids,
        ladder.counts["repeated"], ladder.counts["seatings"], ladder.counts["rounds"], ladder.counts["commitments"], matches))
    if len(ladder.rests) > 1:
        print("the bots' rest time changed: %s ms" % ", ".join(map(str, ladder.rests)))
    for what, (count, first) in sorted(ladder.warnings.items()):
        print("WARNING: %d seatings (the first at revision %d) %s" % (count, first, what))
    if not sources.platform_key:
        skipped.append("ids: the platform key is missing")
    if sources.keys is None:
        skipped.append("seed keys: the response of /log/keys is missing")
    if not matches:
        skipped.append("matches: no records were given")
    print("not checked: " + "; ".join(skipped))
    return 0


def main(args):
    platform_key, keep_going, files, status, log, mode, with_matches = None, False, [], 0, {}, None, False
    while args:
        arg = args.pop(0)
        if arg == "--platform-key" and args:
            platform_key = args.pop(0)
        elif arg in ("--inclusion", "--head") and args:
            with open(args.pop(0), encoding="utf-8", newline="\n") as file:
                log[arg] = file.read()
        elif arg == "--ladder" and args:
            mode = args.pop(0)
        elif arg == "--matches":
            with_matches = True
        elif arg == "--all":
            keep_going = True
        elif arg == "--vectors" and args:
            with open(args.pop(0), encoding="utf-8") as file:
                check_vectors(parse(file.read()))
            return 0
        elif arg.startswith("-"):
            print(__doc__.strip(), file=sys.stderr)
            return 2
        else:
            files.append(arg)
    if not files or len(log) == 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if mode:
        return check_ladder(mode, files, with_matches)
    for name in files:
        for record in records(name):
            m = Match(record, platform_key)
            try:
                events = m.verify()
                if log:
                    check_inclusion(record, parse(log["--inclusion"]), log["--head"])
                print("ok", record["id"], events)
            except Differs as difference:
                print("DIFFERS", record["id"], str(difference))
                status = 1
                if not keep_going:
                    return status
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Malformed, OSError, UnicodeDecodeError) as problem:
        print("verify.py: %s" % problem, file=sys.stderr)
        sys.exit(2)
    except Differs as problem:
        print("DIFFERS %s" % problem)
        sys.exit(1)

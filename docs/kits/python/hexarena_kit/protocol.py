"""The types of requests and actions (docs/protocol.md). At run time, they are plain dicts."""
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, Tuple, TypedDict

Resource = Literal["brick", "lumber", "wool", "grain", "ore"]
DevCard = Literal["knight", "victory_point", "roadworks", "windfall", "embargo"]
Kind = Literal["setup", "turn", "discard", "bandit", "trade"]
#: Counts of cards by resource. A missing resource counts as zero.
Counts = Dict[str, int]
#: An action in the shape that docs/protocol.md describes for each kind of request.
Action = Dict[str, Any]


class Hex(TypedDict):
    id: int
    resource: str  # a Resource or "desert"
    token: Optional[int]  # None on the desert


class _Port(TypedDict):
    vertices: Tuple[int, int]
    rate: int


class Port(_Port, total=False):
    resource: Resource  # absent if the port takes any resource


class Board(TypedDict):
    hexes: List[Hex]
    ports: List[Port]
    bandit: int


class Road(TypedDict):
    edge: int
    seat: int


class Town(TypedDict):
    vertex: int
    seat: int
    city: bool


class Talk(TypedDict):
    seat: int
    message: str
    turn: int


class Awards(TypedDict):
    largestArmy: Optional[int]
    longestRoad: Optional[int]


_OpenTrade = TypedDict("_OpenTrade", {"from": int, "give": Counts, "get": Counts})


class OpenTrade(_OpenTrade, total=False):
    to: int
    talk: str


class View(TypedDict):
    """The game as one seat sees it."""

    seat: int
    seatCount: int
    phase: Literal["setup", "main"]
    turn: int
    dice: Optional[Tuple[int, int]]
    roads: List[Road]
    towns: List[Town]
    handCounts: List[int]
    devCounts: List[int]
    knightsPlayed: List[int]
    scores: List[int]
    awards: Awards
    deckRemaining: int
    openTrade: Optional[OpenTrade]
    talkLog: List[Talk]
    board: Board
    hand: Counts
    devCards: List[DevCard]
    devBoughtThisTurn: List[DevCard]
    myScore: int


class _Request(TypedDict):
    id: int
    matchId: str
    mode: Literal["standard", "parley"]
    seat: int
    kind: Kind
    deadlineMs: int
    view: View


class Request(_Request, total=False):
    bankMs: int  # absent if the match has no time bank

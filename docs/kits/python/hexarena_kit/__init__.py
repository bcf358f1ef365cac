"""Everything that a Hex Arena bot needs besides its strategy.

A bot is a function that gets a Game and returns an action:

    from hexarena_kit import Game, run

    def answer(game: Game) -> dict:
        return game.legal()[0]

    run(answer, version="1.0")

The package needs Python 3.8 or later, and nothing else.
"""
from .board import (EDGES, EDGE_VERTICES, HEX_VERTICES, VERTEX_EDGES, VERTEX_HEXES, VERTEX_NEIGHBORS, VERTICES,
                    HEXES)
from .game import CARD_TYPES, COSTS, RESOURCES, Game, Memory
from .protocol import Action, Counts, Request, View
from .server import Server, run
from .signature import verified

__all__ = [
    "Action", "CARD_TYPES", "COSTS", "Counts", "EDGES", "EDGE_VERTICES", "Game", "HEXES", "HEX_VERTICES", "Memory",
    "RESOURCES", "Request", "Server", "VERTEX_EDGES", "VERTEX_HEXES", "VERTEX_NEIGHBORS", "VERTICES", "View", "run",
    "verified",
]

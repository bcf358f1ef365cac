"""The board graph, numbered as in docs/rules.md ("The board"). Requests do not contain it."""
from __future__ import annotations

HEXES, VERTICES, EDGES = 19, 54, 72

_CENTERS = [(2 * c + [2, 1, 0, 1, 2][r], 3 * r) for r, n in enumerate([3, 4, 5, 4, 3]) for c in range(n)]
_OFFSETS = [(0, -2), (1, -1), (1, 1), (0, 2), (-1, 1), (-1, -1)]
_CORNERS = [[(x + dx, y + dy) for dx, dy in _OFFSETS] for x, y in _CENTERS]
_POINTS = sorted({point for corners in _CORNERS for point in corners}, key=lambda p: (p[1], p[0]))

#: The 6 vertices of each hex, clockwise from the top.
HEX_VERTICES: list[list[int]] = [[_POINTS.index(point) for point in corners] for corners in _CORNERS]
#: The two vertices of each edge, the lower one first.
EDGE_VERTICES: list[tuple[int, int]] = sorted({(min(v, w), max(v, w)) for hex in HEX_VERTICES for v, w in zip(hex, hex[1:] + hex[:1])})
#: The edges that end at each vertex.
VERTEX_EDGES: list[list[int]] = [[e for e, ends in enumerate(EDGE_VERTICES) if v in ends] for v in range(VERTICES)]
#: The hexes around each vertex.
VERTEX_HEXES: list[list[int]] = [[h for h, corners in enumerate(HEX_VERTICES) if v in corners] for v in range(VERTICES)]
#: The vertices at the other ends of each vertex's edges.
VERTEX_NEIGHBORS: list[list[int]] = [[sum(EDGE_VERTICES[e]) - v for e in VERTEX_EDGES[v]] for v in range(VERTICES)]

// The board graph, numbered as in docs/rules.md ("The board"). Requests do not contain it.

export const HEXES = 19, VERTICES = 54, EDGES = 72;

// Each corner is a number that sorts by row and then by column.
const corners = [3, 4, 5, 4, 3].flatMap((n, r) =>
  Array.from({ length: n }, (_, c) => {
    const x = 2 * c + [2, 1, 0, 1, 2][r], y = 3 * r;
    return [[0, -2], [1, -1], [1, 1], [0, 2], [-1, 1], [-1, -1]].map(([dx, dy]) => 100 * (y + dy + 2) + x + dx + 1);
  }));
const points = [...new Set(corners.flat())].sort((a, b) => a - b);

/** The 6 vertices of each hex, clockwise from the top. */
export const HEX_VERTICES: number[][] = corners.map((hex) => hex.map((corner) => points.indexOf(corner)));

const sides = HEX_VERTICES.flatMap((hex) => hex.map((v, i) => 100 * Math.min(v, hex[(i + 1) % 6]) + Math.max(v, hex[(i + 1) % 6])));

/** The two vertices of each edge, the lower one first. */
export const EDGE_VERTICES: number[][] = [...new Set(sides)].sort((a, b) => a - b).map((side) => [Math.floor(side / 100), side % 100]);

const vertices = Array.from({ length: VERTICES }, (_, v) => v);

/** The edges that end at each vertex. */
export const VERTEX_EDGES: number[][] = vertices.map((v) => EDGE_VERTICES.flatMap((ends, e) => (ends.includes(v) ? [e] : [])));
/** The hexes around each vertex. */
export const VERTEX_HEXES: number[][] = vertices.map((v) => HEX_VERTICES.flatMap((hex, h) => (hex.includes(v) ? [h] : [])));
/** The vertices at the other ends of each vertex's edges. */
export const VERTEX_NEIGHBORS: number[][] = vertices.map((v) =>
  VERTEX_EDGES[v].map((e) => EDGE_VERTICES[e][0] + EDGE_VERTICES[e][1] - v));

// The geometry of the board, with the numbers of docs/rules.md, "The board". A test
// compares it with package domain/board.

const rows = [3, 4, 5, 4, 3];
const indents = [2, 1, 0, 1, 2];
const corners = [[0, -2], [1, -1], [1, 1], [0, 2], [-1, 1], [-1, -1]];

// One step of the lattice, in units of the picture; a side of a hex is 50.
const stepX = 43.3;
const stepY = 25;
const middle = { x: 4 * stepX, y: 6 * stepY };

export const resources = ['brick', 'lumber', 'wool', 'grain', 'ore'];

// viewBox contains the island and its ports. smallViewBox contains only the island, with room
// for the cities on its coast.
export const viewBox = { x: -108, y: -98, width: 562.4, height: 496 };
export const smallViewBox = { x: -70, y: -76, width: 486.4, height: 450 };

function lattice() {
  const centres = [];
  rows.forEach((n, r) => {
    for (let c = 0; c < n; c++) centres.push([2 * c + indents[r], 3 * r]);
  });
  return centres;
}

function distinctCorners(centres) {
  const found = new Map();
  for (const [x, y] of centres) {
    for (const [dx, dy] of corners) found.set(`${x + dx},${y + dy}`, [x + dx, y + dy]);
  }
  return [...found.values()].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
}

const centres = lattice();
const points = distinctCorners(centres);
const numbers = new Map(points.map(([x, y], id) => [`${x},${y}`, id]));

const picture = ([x, y]) => ({ x: round(x * stepX), y: round(y * stepY) });
const round = (n) => Math.round(n * 100) / 100;

// hexes[h] and vertices[v] are points of the picture.
export const hexes = centres.map(picture);
export const vertices = points.map(picture);

// hexVertices[h] are the corners of hex h, clockwise from the top.
export const hexVertices = centres.map(([x, y]) => corners.map(([dx, dy]) => numbers.get(`${x + dx},${y + dy}`)));

// vertexHexes[v] are the hexes that meet at vertex v.
export const vertexHexes = vertices.map((_, v) => hexes.flatMap((_, h) => (hexVertices[h].includes(v) ? [h] : [])));

// edges[e] are the ends of edge e: the vertex with the lower number, then the other.
export const edges = sides();

function sides() {
  const found = new Map();
  for (const vs of hexVertices) {
    vs.forEach((v, i) => {
      const w = vs[(i + 1) % 6];
      found.set(Math.min(v, w) * vertices.length + Math.max(v, w), [Math.min(v, w), Math.max(v, w)]);
    });
  }
  return [...found.entries()].sort((a, b) => a[0] - b[0]).map(([, ends]) => ends);
}

// coast is the ring of vertices around the island. It lists each vertex once.
export const coast = ring();

function ring() {
  const sea = edges.filter(([v, w]) => vertexHexes[v].filter((h) => vertexHexes[w].includes(h)).length === 1);
  const path = [sea[0][0], sea[0][1]];
  while (path.length < sea.length) {
    const [before, last] = path.slice(-2);
    const next = sea.find(([v, w]) => (v === last && w !== before) || (w === last && v !== before));
    path.push(next[0] === last ? next[1] : next[0]);
  }
  return path;
}

// portPlace returns the point of a port's sign. The point is at a distance from the
// middle of the port's edge, away from the island.
export function portPlace([v, w], off = 40) {
  const at = { x: (vertices[v].x + vertices[w].x) / 2, y: (vertices[v].y + vertices[w].y) / 2 };
  const along = { x: vertices[w].x - vertices[v].x, y: vertices[w].y - vertices[v].y };
  let out = { x: along.y / 50, y: -along.x / 50 };
  if (out.x * (at.x - middle.x) + out.y * (at.y - middle.y) < 0) out = { x: -out.x, y: -out.y };
  return { x: round(at.x + off * out.x), y: round(at.y + off * out.y) };
}

// outline returns the corners of a polygon for an SVG attribute, scaled about a point.
export function outline(ids, scale = 1, about = middle) {
  return ids.map((v) => {
    const { x, y } = vertices[v];
    return `${round(about.x + (x - about.x) * scale)},${round(about.y + (y - about.y) * scale)}`;
  }).join(' ');
}

// placesOf returns the ids in a bot's answer to a request. Rejected answers may contain
// anything.
export function placesOf(answer) {
  let action;
  try {
    action = JSON.parse(answer)?.action;
  } catch { /* a malformed answer names no place */ }
  const known = (list, ...ids) => ids.flat().filter((id) => Number.isInteger(id) && id >= 0 && id < list.length);
  return {
    hexes: known(hexes, action?.hex),
    edges: known(edges, action?.edge, action?.road, action?.edges),
    vertices: known(vertices, action?.vertex, action?.settlement),
  };
}

// Represents the pieces on a board as numbers that are cheap to compare.
import { edges, vertices } from './board-geometry.mjs';

export const none = 255;
const city = 4; // added to a town's seat

// piecesOf returns the pieces of a frame. roads[e] is the seat of the road on edge e.
// towns[v] is the seat of the town on vertex v, plus 4 for a city. 255 means no piece.
export function piecesOf(frame) {
  const roads = new Uint8Array(edges.length).fill(none);
  const towns = new Uint8Array(vertices.length).fill(none);
  for (const r of frame.roads) roads[r.edge] = r.seat;
  for (const t of frame.towns) towns[t.vertex] = t.seat + (t.city ? city : 0);
  return { roads, towns, bandit: frame.board.bandit };
}

export const empty = { roads: new Uint8Array(edges.length).fill(none), towns: new Uint8Array(vertices.length).fill(none), bandit: none };

export const seatOf = (piece) => piece % city;
export const isCity = (piece) => piece !== none && piece >= city;

export const noChange = { roads: [], towns: [], bandit: false };

// changes lists the edges and vertices with different pieces, and reports whether the
// bandit moved.
export function changes(before, after) {
  return {
    roads: differing(before.roads, after.roads),
    towns: differing(before.towns, after.towns),
    bandit: before.bandit !== after.bandit,
  };
}

function differing(a, b) {
  const list = [];
  for (let i = 0; i < b.length; i++) if (a[i] !== b[i]) list.push(i);
  return list;
}

// Describes the board for screen readers.
import { vertexHexes } from './board-geometry.mjs';

const rows = [[0, 3], [3, 7], [7, 12], [12, 16], [16, 19]];

const hexText = (hex) => (hex.token === null ? hex.resource : `${hex.resource} ${hex.token}`);

// describeIsland describes hexes and ports.
export function describeIsland(layout) {
  const lines = rows.map(([from, to], i) => `Row ${i + 1}: ${layout.hexes.slice(from, to).map(hexText).join(', ')}.`);
  const ports = layout.ports.map((p) => `${p.rate} to 1 ${p.resource ?? 'any'} at ${p.vertices.join(' and ')}`);
  return `${lines.join(' ')} Ports: ${ports.join('; ')}.`;
}

// describePieces describes the pieces and the bandit.
export function describePieces(frame, layout, names) {
  const seats = Array.from({ length: frame.seatCount }, (_, seat) => {
    const towns = frame.towns.filter((t) => t.seat === seat).map((t) => `${t.city ? 'city' : 'settlement'} on ${t.vertex} (${vertexHexes[t.vertex].map((h) => hexText(layout.hexes[h])).join(', ')})`);
    const roads = frame.roads.filter((r) => r.seat === seat).length;
    return `${names[seat] ?? `Seat ${seat}`}: ${plural(frame.scores[seat], 'point')}, ${plural(roads, 'road')}${towns.length ? ', ' : ''}${towns.join(', ')}.`;
  });
  const bandit = layout.hexes[frame.board.bandit];
  return `The bandit is on hex ${bandit.id}, ${hexText(bandit)}. ${seats.join(' ')}`;
}

export const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

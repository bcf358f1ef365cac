import assert from 'node:assert/strict';
import test from 'node:test';
import { changes, empty, isCity, none, piecesOf, seatOf } from '../../static/board-diff.mjs';

const frame = (roads, towns, bandit) => ({ roads, towns, board: { bandit } });

test('equal pieces have no changes', () => {
  const pieces = piecesOf(frame([{ edge: 3, seat: 1 }], [{ vertex: 9, seat: 2, city: true }], 4));
  assert.deepEqual(changes(pieces, pieces), { roads: [], towns: [], bandit: false });
});

test('new, removed, upgraded and reassigned pieces are changes', () => {
  const before = piecesOf(frame([{ edge: 3, seat: 1 }, { edge: 4, seat: 0 }], [{ vertex: 9, seat: 2, city: false }], 4));
  const after = piecesOf(frame([{ edge: 4, seat: 2 }, { edge: 71, seat: 0 }], [{ vertex: 9, seat: 2, city: true }, { vertex: 53, seat: 3, city: false }], 5));
  assert.deepEqual(changes(before, after), { roads: [3, 4, 71], towns: [9, 53], bandit: true });
});

test('seat 0 is not "no piece", and a city belongs to its seat', () => {
  const { towns } = piecesOf(frame([], [{ vertex: 0, seat: 0, city: false }, { vertex: 7, seat: 3, city: true }], 0));
  assert.notEqual(towns[0], none);
  assert.equal(seatOf(towns[0]), 0);
  assert.ok(!isCity(towns[0]) && isCity(towns[7]) && !isCity(empty.towns[7]));
  assert.equal(seatOf(towns[7]), 3);
});

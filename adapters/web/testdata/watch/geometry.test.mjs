import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { coast, edges, hexVertices, hexes, placesOf, portPlace, vertexHexes, vertices, viewBox } from '../../static/board-geometry.mjs';

const golden = JSON.parse(readFileSync(new URL('geometry.json', import.meta.url)));

test('hexes, vertices and edges have the numbers of package board', () => {
  assert.deepEqual(hexVertices, golden.hexVertices);
  assert.deepEqual(edges, golden.edgeVertices);
  assert.deepEqual(vertexHexes, golden.vertexHexes);
  assert.equal(vertices.length, golden.vertexHexes.length);
});

test('hexes are regular: all edges have the same length', () => {
  for (const [v, w] of edges) {
    const length = Math.hypot(vertices[v].x - vertices[w].x, vertices[v].y - vertices[w].y);
    assert.ok(Math.abs(length - 50) < 0.05, `edge ${v}-${w} is ${length} long`);
  }
});

test('the coast is a ring of thirty edges, and ports are outside it within the picture', () => {
  assert.equal(new Set(coast).size, 30);
  for (const ends of golden.ports) {
    const at = coast.indexOf(ends[0]);
    assert.ok([coast[(at + 1) % 30], coast[(at + 29) % 30]].includes(ends[1]), `port ${ends}`);
    const place = portPlace(ends);
    for (const hex of hexes) assert.ok(Math.hypot(place.x - hex.x, place.y - hex.y) > 65, `port ${ends} lies on land`);
    assert.ok(place.x - 22 > viewBox.x && place.x + 22 < viewBox.x + viewBox.width && place.y - 22 > viewBox.y && place.y + 22 < viewBox.y + viewBox.height);
  }
});

test('the places in an answer', () => {
  const none = { hexes: [], edges: [], vertices: [] };
  for (const answer of [undefined, '', '{', 'null', '[]', '{"id":1}', '{"action":null}', '{"action":{"vertex":"7","hex":-1,"edge":72}}']) assert.deepEqual(placesOf(answer), none, answer);
  assert.deepEqual(placesOf('{"id":1,"action":{"settlement":53,"road":71}}'), { hexes: [], edges: [71], vertices: [53] });
  assert.deepEqual(placesOf('{"action":{"type":"play_roadworks","edges":[3,4]}}'), { hexes: [], edges: [3, 4], vertices: [] });
  assert.deepEqual(placesOf('{"action":{"type":"play_knight","hex":0}}'), { hexes: [0], edges: [], vertices: [] });
});

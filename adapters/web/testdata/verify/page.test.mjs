import assert from 'node:assert/strict';
import test from 'node:test';
import { sharesIn, unable, verdict } from '../../static/verify-page.mjs';

const result = { events: 7, shares: { beacon: null, bots: ['a', 'b', 'c'] }, checks: [['dice', 3]], unchecked: [['rating', 'no ladder']], difference: null, fork: null };

test('a verdict lists shares, checked and unchecked values and the difference', () => {
  const { state, line, lines } = verdict(result, ['b']);
  assert.equal(state, 'verified');
  assert.equal(line, 'Verified in your browser: 7 events follow from the seed and the answers. Seed: the arena and 2 bots');
  assert.deepEqual(lines.slice(0, 3), ['The seed comes from the arena and 2 bots. House bots do not count: 1 sent a nonce.', 'dice: 3 correct', 'rating: not checked, no ladder']);
  assert.match(lines.at(-1), /This checker comes from the arena itself/);
  const old = verdict({ ...result, shares: null });
  assert.equal(old.line, 'Verified in your browser: 7 events follow from the seed and the answers');
  assert.equal(old.lines[0], 'dice: 3 correct');
  const found = verdict({ ...result, difference: new Error('event 4: the log has 1; expected 2') });
  assert.equal(found.state, 'differs');
  assert.equal(found.lines[0], 'event 4: the log has 1; expected 2');
  assert.deepEqual(unable(new Error('why')), { state: 'unknown', line: 'Not checked in your browser', lines: ['why'] });
});

test('only bots of other owners share in a seed', () => {
  const shares = result.shares;
  for (const [house, want] of [[[], 'the arena and 3 bots'], [['a', 'c', 'x'], 'the arena and 1 bot'], [['a', 'b', 'c'], 'the arena only']]) assert.equal(sharesIn(shares, house), want);
  assert.equal(sharesIn({ ...shares, bots: [] }, []), 'the arena only');
  const beacon = { ...shares, beacon: { chain: 'c0ffee', round: 17 } };
  assert.equal(sharesIn(beacon, []), 'the beacon');
  assert.match(verdict({ ...result, shares: beacon }).lines[0], /round 17 of the beacon c0ffee\. The bots' nonces are not part of it/);
});

test('a log that does not continue the earlier head is reported with both heads', () => {
  const { state, line, lines } = verdict({ ...result, fork: ['This browser saw', 'one head', 'another head'] });
  assert.equal(state, 'differs');
  assert.equal(line, 'The arena’s logs do not continue the logs that this browser saw before');
  assert.deepEqual(lines.slice(0, 3), ['This browser saw', 'one head', 'another head']);
});

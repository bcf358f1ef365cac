import assert from 'node:assert/strict';
import test from 'node:test';
import { unable, verdict } from '../../static/verify-page.mjs';

test('a verdict lists checked and unchecked values and the difference', () => {
  const result = { events: 7, checks: [['dice', 3]], unchecked: [['rating', 'no ladder']], difference: null };
  assert.deepEqual(verdict(result), { state: 'verified', line: 'Verified in your browser: 7 events follow from the seed and the answers', lines: ['dice: 3 correct', 'rating: not checked, no ladder'] });
  const found = verdict({ ...result, difference: new Error('event 4: the log has 1; expected 2') });
  assert.equal(found.state, 'differs');
  assert.equal(found.lines[0], 'event 4: the log has 1; expected 2');
  assert.deepEqual(unable(new Error('why')), { state: 'unknown', line: 'Not checked in your browser', lines: ['why'] });
});

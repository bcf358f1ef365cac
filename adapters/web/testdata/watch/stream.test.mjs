import assert from 'node:assert/strict';
import test from 'node:test';
import { follow } from '../../static/live-stream.mjs';
import { Source } from '../../static/watch-source.mjs';

class Line extends EventTarget {
  static CLOSED = 2;
  static all = [];
  constructor(url) {
    super();
    this.url = url;
    this.readyState = 0;
    Line.all.push(this);
  }
  tell(type, data) { this.dispatchEvent(Object.assign(new Event(type), { data: JSON.stringify(data) })); }
  fail(state) {
    this.readyState = state;
    this.dispatchEvent(new Event('error'));
  }
  close() { this.readyState = Line.CLOSED; }
}

function followed() {
  Line.all = [];
  const seen = { frames: [], ends: [], states: [], waits: [], ages: [] };
  const close = follow('/live/stream', { frame: (f) => seen.frames.push(f), end: (m) => seen.ends.push(m), state: (s) => seen.states.push(s), stale: (s) => seen.ages.push(s) },
    { Source: Line, later: (work, ms) => { seen.waits.push(ms); seen.again = work; }, jitter: () => 0.5 });
  return { seen, close };
}

test('frames, ends and states are passed on', () => {
  const { seen, close } = followed();
  Line.all[0].tell('open');
  Line.all[0].tell('frame', { seq: 1 });
  Line.all[0].tell('stale', { staleSeconds: 12.3 });
  Line.all[0].tell('end', { id: 'm' });
  close();
  close();
  assert.deepEqual(seen.frames, [{ seq: 1 }]);
  assert.deepEqual(seen.ages, [12.3]);
  assert.deepEqual(seen.ends, [{ id: 'm' }]);
  assert.deepEqual(seen.states, ['connecting', 'live', 'closed']);
});

test('the browser resumes a lost connection; a rejected one is opened again with growing delays', () => {
  const { seen } = followed();
  Line.all[0].fail(0);
  assert.equal(Line.all.length, 1);
  for (let i = 0; i < 7; i++) {
    Line.all.at(-1).fail(Line.CLOSED);
    seen.again();
  }
  assert.equal(Line.all.length, 8);
  assert.deepEqual(seen.waits, [1000, 2000, 4000, 8000, 16000, 30000, 30000]);
  Line.all.at(-1).tell('open');
  Line.all.at(-1).fail(Line.CLOSED);
  assert.equal(seen.waits.at(-1), 1000, 'a successful connection resets the delay');
});

test('a closed stream does not open again', () => {
  const { seen, close } = followed();
  Line.all[0].fail(Line.CLOSED);
  close();
  seen.again();
  assert.equal(Line.all.length, 1);
});

test('frames are read page by page until a page is not full', async () => {
  const asked = [];
  const frames = Array.from({ length: 2300 }, (_, i) => ({ seq: i + 1 }));
  const source = new Source('/matches/m', async (path) => {
    asked.push(path);
    const q = new URL(path, 'http://arena').searchParams;
    return { frames: frames.slice(Number(q.get('after')), Number(q.get('after')) + Number(q.get('limit'))) };
  });
  let n = 0;
  for await (const page of source.pages(100, 'all')) n += page.frames.length;
  assert.equal(n, 2200);
  assert.equal(asked[0], '/matches/m/frames?after=100&limit=1000&seat=all');
  assert.equal(asked.length, 3);
});

test('a replay reads its first frames first', async () => {
  const asked = [];
  await new Source('/matches/m', (path) => asked.push(path)).first();
  assert.deepEqual(asked, ['/matches/m/frames?after=0&limit=400']);
});

// Shows the result of the checker on the page of a match. It checks an ended match when
// the page is idle. It checks a running match once the match has ended.

import { load, store } from './verify-memory.mjs';

const verified = 'Verified in your browser';
const advice = 'This checker comes from the arena itself. To check without trusting the arena, use `arena verify`, or write a checker from docs/audit.md.';

// sharesIn says whose shares went into a seed. house contains the ids of the house
// bots. They do not count, because the arena may know their secrets.
export function sharesIn({ beacon, bots }, house) {
  if (beacon) return 'the beacon';
  const n = bots.filter((id) => !house.includes(id)).length;
  if (n === 0) return 'the arena only';
  return `the arena and ${n} ${n === 1 ? 'bot' : 'bots'}`;
}

// details explains the shares.
function details({ beacon, bots }, house) {
  if (beacon) return `The seed comes from the arena's share and round ${beacon.round} of the beacon ${beacon.chain}. The bots' nonces are not part of it.`;
  const ours = bots.filter((id) => house.includes(id)).length;
  return `The seed comes from ${sharesIn({ beacon, bots }, house)}.${ours > 0 ? ` House bots do not count: ${ours} sent a nonce.` : ''}`;
}

// verdict describes a result: a summary line and lines with details.
export function verdict({ events, shares, checks, unchecked, difference, fork }, house = []) {
  const made = checks.map(([name, count]) => `${name}: ${count} correct`);
  const not = unchecked.map(([name, why]) => `${name}: not checked, ${why}`);
  if (difference) return { state: 'differs', line: 'This match does not follow from its seed and answers', lines: [difference.message, ...made] };
  if (fork) return { state: 'differs', line: 'The arena’s logs do not continue the logs that this browser saw before', lines: [...fork, ...made, ...not, advice] };
  const from = shares ? `. Seed: ${sharesIn(shares, house)}` : '';
  return {
    state: 'verified', line: `${verified}: ${events} events follow from the seed and the answers${from}`,
    lines: [...(shares ? [details(shares, house)] : []), ...made, ...not, advice],
  };
}

// unable returns the verdict for a check that failed.
export function unable(error) {
  const why = globalThis.crypto?.subtle ? error.message : 'browsers can check matches only over https';
  return { state: 'unknown', line: 'Not checked in your browser', lines: [why] };
}

function show(place, { state, line, lines }) {
  place.dataset.verify = state;
  place.querySelector('summary').textContent = line;
  place.querySelector('ul').replaceChildren(...lines.map((text) => {
    const item = document.createElement('li');
    item.append(...text.split(/(`[^`]+`|docs\/audit\.md)/).map(partOf));
    return item;
  }));
  place.hidden = false;
}

// partOf returns a part of a line: a command, a link to a guide, or text.
function partOf(text) {
  if (/^`.+`$/.test(text)) return Object.assign(document.createElement('code'), { textContent: text.slice(1, -1) });
  if (text !== 'docs/audit.md') return text;
  return Object.assign(document.createElement('a'), { textContent: text, href: '/docs/audit' });
}

function check(id, place) {
  const house = place.dataset.house.split(' ');
  const worker = new Worker(new URL('./verify-worker.mjs', import.meta.url), { type: 'module' });
  const finish = (result) => {
    worker.terminate();
    show(place, result);
  };
  worker.onmessage = ({ data: { found, why } }) => {
    if (found?.newest.length > 0) store(globalThis.localStorage, found.newest);
    finish(found ? verdict(found, house) : unable(new Error(why)));
  };
  worker.onerror = () => finish(unable(new Error('the checker did not load; reload the page to try again')));
  worker.postMessage({ id, stored: stored() });
}

// stored returns the heads that this browser has seen, or null if it does not let this
// page store data. Even reading globalThis.localStorage can fail.
function stored() {
  try {
    return load(globalThis.localStorage);
  } catch {
    return null;
  }
}

function begin(root, place) {
  const later = globalThis.requestIdleCallback ?? ((f) => setTimeout(f, 1000));
  const start = () => later(() => check(root.dataset.watch, place));
  if (root.dataset.status !== 'running') { start(); return; }
  const ends = new MutationObserver(() => {
    if (root.dataset.status === 'running') return;
    ends.disconnect();
    start();
  });
  ends.observe(root, { attributeFilter: ['data-status'] });
}

const place = globalThis.document?.querySelector('[data-verify]');
if (place) begin(document.querySelector('[data-watch]'), place);

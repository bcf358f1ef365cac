// Shows the result of the checker on the page of a match. It checks an ended match when
// the page is idle. It checks a running match once the match has ended.

const verified = 'Verified in your browser';

// verdict describes a result: a summary line and lines with details.
export function verdict({ events, checks, unchecked, difference }) {
  const made = checks.map(([name, count]) => `${name}: ${count} correct`);
  if (difference) return { state: 'differs', line: 'This match does not follow from its seed and answers', lines: [difference.message, ...made] };
  const not = unchecked.map(([name, why]) => `${name}: not checked, ${why}`);
  return { state: 'verified', line: `${verified}: ${events} events follow from the seed and the answers`, lines: [...made, ...not] };
}

// unable is the verdict if the check itself failed.
export function unable(error) {
  const why = globalThis.crypto?.subtle ? error.message : 'browsers can check matches only on https';
  return { state: 'unknown', line: 'Not checked in your browser', lines: [why] };
}

function show(place, { state, line, lines }) {
  place.dataset.verify = state;
  place.querySelector('summary').textContent = line;
  place.querySelector('ul').replaceChildren(...lines.map((text) => Object.assign(document.createElement('li'), { textContent: text })));
  place.hidden = false;
}

function check(id, place) {
  const worker = new Worker(new URL('./verify-worker.mjs', import.meta.url), { type: 'module' });
  const finish = (result) => {
    worker.terminate();
    show(place, result);
  };
  worker.onmessage = ({ data: { found, why } }) => finish(found ? verdict(found) : unable(new Error(why)));
  worker.onerror = () => finish(unable(new Error('the checker did not load; reload the page to try again')));
  worker.postMessage(id);
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

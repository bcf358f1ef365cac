// Shows on the page of a match what the checker finds: once the page has
// settled, or, of a match that runs, once it has ended.

const verified = 'Verified in your browser';

// verdict is what a result reads as: a line, and lines that explain it.
export function verdict({ events, checks, unchecked, difference }) {
  const made = checks.map(([name, count]) => `${name}: ${count} as they should be`);
  if (difference) return { state: 'differs', line: 'This match is not what follows from its seed and answers', lines: [difference.message, ...made] };
  const not = unchecked.map(([name, why]) => `${name}: not checked, ${why}`);
  return { state: 'verified', line: `${verified}: ${events} events follow from the seed and the answers`, lines: [...made, ...not] };
}

// unable is the verdict where nothing can be said.
export function unable(error) {
  const why = globalThis.crypto?.subtle ? error.message : 'a browser checks only what it is shown over https';
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
  const tell = (said) => {
    worker.terminate();
    show(place, said);
  };
  worker.onmessage = ({ data: { found, why } }) => tell(found ? verdict(found) : unable(new Error(why)));
  worker.onerror = () => tell(unable(new Error('the checker could not be loaded')));
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

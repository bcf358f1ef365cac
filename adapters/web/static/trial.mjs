// The page of a trial in progress: it lists each decision of the bot, and shows the result
// when the trial has ended.
import { follow } from './live-stream.mjs';

const root = document.querySelector('[data-trial]');
const steps = document.querySelector('[data-steps]');

function line(d) {
  const item = document.createElement('li');
  item.className = d.outcome === 'played' ? 'ok' : 'failed';
  const name = document.createElement('strong');
  name.textContent = d.kind;
  item.append(name, ` ${d.outcome === 'timeout' ? 'no usable answer' : d.outcome}, ${d.elapsedMs} ms`);
  if (d.message ?? d.code) item.append(`. Strike ${d.strikes}: ${(d.message ?? d.code).replace(/^came /, 'the answer came ')}`);
  return item;
}

// show adds a decision. A page that was opened before the trial began says "waiting" until
// then.
function show(d) {
  const status = document.querySelector('[data-status]');
  status.textContent = 'running';
  status.classList.add('running');
  steps.append(line(d));
}

const close = follow(root.dataset.trial, {
  decision: show,
  end: () => {
    close();
    location.reload();
  },
});

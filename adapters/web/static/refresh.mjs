// Updates the parts of a page that show ended matches. It reads the page again and replaces
// the elements that have the attribute data-fresh.
import { readJSON } from './dom.mjs';

const pollEvery = 10_000; // ms
const pause = 3000; // ms between two updates, because many matches may end together

// refresh replaces the parts of the page. The focus stays on a link that both versions have.
async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of document.querySelectorAll('[data-fresh]')) {
    const next = page.getElementById(part.id);
    if (!next || next.outerHTML === part.outerHTML) continue;
    const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
    part.replaceWith(next);
    if (focused) next.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

let due;
function refreshSoon() {
  due ??= setTimeout(() => {
    due = undefined;
    refresh().catch(() => {}); // the next change tries again
  }, pause);
}

document.addEventListener('matchended', refreshSoon); // from live.mjs

// poll asks for the newest match of a list. A new match, or the end of a match, changes the
// page.
async function poll() {
  const list = document.querySelector('[data-poll]');
  if (!list || document.hidden) return;
  const { matches } = await readJSON(list.dataset.poll);
  const newest = matches.length > 0 ? `${matches[0].id} ${matches[0].status}` : '';
  if (newest !== list.dataset.seen) refreshSoon();
}

if (document.querySelector('[data-poll]')) setInterval(() => poll().catch(() => {}), pollEvery);

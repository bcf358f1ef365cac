// Leads from a match to the next one, on pages that follow a bot or a ladder. After the match
// on the page has ended, this module waits for a running match, shows the time to the next
// tick, and then opens the address of the page again. The server chooses the match.
import { write } from './dom.mjs';

const stay = 8000; // ms that the result stays on the page
const lookEvery = 3000; // ms between two looks for the next match
const queueEvery = 10_000; // ms between two looks for the next tick

class Follow {
  constructor(note, watched) {
    this.note = note;
    this.watched = watched;
    this.from = 0; // when the page may leave
    this.tick = 0; // time of the next tick, by this computer's clock
    this.asked = -Infinity;
  }

  start() {
    if (this.watched?.dataset.status !== 'running') return this.wait(0);
    const ended = new MutationObserver(() => {
      if (this.watched.dataset.status === 'running') return;
      ended.disconnect();
      this.wait(stay);
    });
    ended.observe(this.watched, { attributeFilter: ['data-status'] });
    return undefined;
  }

  wait(ms) {
    this.from = performance.now() + ms;
    this.note.hidden = false;
    this.show();
    setInterval(() => this.show(), 1000);
    this.look();
  }

  // look asks for a running match, again and again, and then opens the page again.
  async look() {
    try {
      const { body } = await ask(this.note.dataset.follow);
      if (body.matches.some((m) => m.id !== this.watched?.dataset.watch)) {
        this.found = true;
        setTimeout(() => location.reload(), Math.max(0, this.from - performance.now()));
        return;
      }
      if (performance.now() - this.asked >= queueEvery) await this.askQueue();
    } catch { /* the next look tries again */ }
    setTimeout(() => this.look(), lookEvery);
  }

  // askQueue reads the time of the next tick. The two clocks may differ, so it compares the
  // time with the response's date.
  async askQueue() {
    this.asked = performance.now();
    const { body, date } = await ask(this.note.dataset.queue);
    this.tick = body.nextTick ? performance.now() + Date.parse(body.nextTick) - date : 0;
    this.show();
  }

  show() {
    const now = performance.now();
    if (this.found) return write(this.note, `The next match opens in ${Math.max(0, Math.ceil((this.from - now) / 1000))} s.`);
    const left = Math.ceil((this.tick - now) / 1000);
    if (this.tick > 0 && left < 0) this.asked = -Infinity;
    return write(this.note, left > 0 ? `The next tables are seated in ${left < 120 ? `${left} s` : `${Math.ceil(left / 60)} min`}.` : this.watched ? 'Waiting for the next match.' : 'It opens here when it begins.');
  }
}

async function ask(path) {
  const answer = await fetch(path, { headers: { accept: 'application/json' } });
  if (!answer.ok) throw new Error(`${path} responded with status ${answer.status}`);
  return { body: await answer.json(), date: Date.parse(answer.headers.get('date')) || Date.now() };
}

const note = document.querySelector('[data-follow]');
if (note) new Follow(note, document.querySelector('[data-watch]')).start();

// Live boards: every [data-live-boards] list of a page is fed from one stream.
// Its items are there without a script, as links; this adds boards to them,
// items for matches that begin, and a word on those that have ended.
import { createBoard } from './board.mjs';
import { mark } from './board-art.mjs';
import { follow } from './live-stream.mjs';
import { turnOf } from './watch-model.mjs';

const most = 20; // boards in one list
const settle = 400; // ms to wait for more of the same before asking for names
const farewell = 20_000; // ms that an ended match stays
const retry = 10_000; // ms before a board is asked for again

const budget = 2; // ms of work in one frame of the screen

// inTurn does work in turn, a little in each frame: what it changes has to be
// laid out and painted, too, which takes longer.
function inTurn() {
  const queue = [];
  let busy = false;
  const step = () => {
    const end = performance.now() + budget;
    try {
      while (queue.length > 0 && performance.now() < end) queue.shift()();
    } finally {
      busy = queue.length > 0;
      if (busy) requestAnimationFrame(step);
    }
  };
  return (work) => {
    queue.push(work);
    if (!busy) requestAnimationFrame(step);
    busy = true;
  };
}

class Boards {
  constructor(list) {
    this.list = list;
    this.mode = list.dataset.mode ?? '';
    this.query = this.mode ? `?mode=${this.mode}` : '';
    this.cards = new Map();
    this.early = new Map(); // the newest frame of each match that is not listed
    this.beyond = new Set(); // matches for which there is no room
    this.later = inTurn();
    for (const item of list.querySelectorAll('[data-match]')) this.adopt(item);
    this.close = follow(`/live/stream${this.query}`, {
      frame: (f) => this.show(f),
      end: (m) => this.end(m),
      state: (state) => { list.dataset.connection = state; },
    });
  }

  adopt(item) {
    const { mode } = item.dataset;
    const card = { item, board: null, frame: null, waiting: false };
    card.say = (text) => { card.turn.textContent = mode ? `${mode} · ${text}` : text; };
    this.cards.set(item.dataset.match, card);
    return card;
  }

  // show keeps the newest frame of a match, and paints it when there is time:
  // what is overtaken is never painted.
  show(frame) {
    const card = this.cards.get(frame.matchId);
    if (!card) {
      if (this.beyond.has(frame.matchId)) return undefined;
      this.early.set(frame.matchId, frame);
      return this.meet();
    }
    card.frame = frame;
    if (card.waiting) return undefined;
    card.waiting = true;
    return this.later(() => this.paint(frame.matchId, card));
  }

  async paint(id, card) {
    if (!card.board) {
      await this.build(id, card);
      if (card.board) this.later(() => this.paint(id, card));
      else setTimeout(() => { card.waiting = false; }, retry);
      return;
    }
    card.waiting = false;
    const { frame } = card;
    const before = card.shown ?? null;
    card.shown = frame;
    card.board.show(frame, before, before !== null);
    card.say(card.over ?? (frame.turn > 0 ? `turn ${frame.turn}` : 'setup'));
    const seat = turnOf(frame);
    card.scores.forEach((score, s) => {
      write(score.points, frame.scores[s]);
      score.row.classList.toggle('on-turn', s === seat);
    });
  }

  async build(id, card) {
    const layout = await ask(`/matches/${id}/frames?limit=1`);
    if (!layout) return;
    const link = card.item.querySelector('a') ?? card.item;
    const names = [...card.item.querySelectorAll('li')].map((li) => li.textContent.trim());
    await new Promise((done) => this.later(() => {
      card.board = createBoard(layout.board, { small: true, names });
      card.board.element.setAttribute('aria-hidden', 'true');
      card.turn = tag('span', 'live-turn');
      link.prepend(card.board.element, card.turn);
      card.scores = [...card.item.querySelectorAll('li')].map((row, seat) => {
        const points = tag('span', 'live-points');
        row.prepend(mark(seat));
        row.append(points);
        return { row, points };
      });
      done();
    }));
  }

  // meet asks who plays in matches that the page does not know, once for all
  // that begin together.
  meet() {
    if (this.meeting) return;
    this.meeting = setTimeout(async () => {
      const found = await ask(`/live${this.query}`);
      this.meeting = 0;
      for (const m of found?.matches ?? []) {
        if (!this.cards.has(m.id) && this.cards.size < most) this.list.append(this.adopt(listed(m)).item);
      }
      const frames = [...this.early.values()];
      this.early.clear();
      for (const frame of frames) {
        if (this.cards.has(frame.matchId)) this.show(frame);
        else if (found) this.beyond.add(frame.matchId);
      }
    }, settle);
  }

  end(summary) {
    const card = this.cards.get(summary.id);
    if (!card) return;
    card.item.classList.add('ended');
    card.over = summary.status === 'completed' ? 'ended' : summary.status; // a frame may still wait to be painted
    if (card.turn) card.say(card.over);
    setTimeout(() => {
      card.item.remove();
      this.cards.delete(summary.id);
      this.beyond.clear();
    }, farewell);
  }
}

async function ask(path) {
  try {
    const answer = await fetch(path, { headers: { accept: 'application/json' } });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null; // the stream comes back, and asks again
  }
}

function tag(name, className, text = '') {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

function write(element, value) {
  if (element.textContent !== String(value)) element.textContent = value;
}

// listed is the item of a match that began after the page.
function listed(m) {
  const item = tag('li', 'panel');
  item.dataset.match = m.id;
  item.dataset.mode = m.mode;
  const link = item.appendChild(tag('a', ''));
  link.href = `/watch/${m.id}`;
  const names = link.appendChild(tag('ol', ''));
  for (const p of m.players) names.appendChild(tag('li', '')).append(tag('bdi', '', p.botName));
  return item;
}

for (const list of document.querySelectorAll('[data-live-boards]')) new Boards(list);

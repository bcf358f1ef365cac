// Live boards. One stream feeds all boards of a [data-live-boards] list. The page contains
// links to the matches. This module adds a board to each link, adds new matches, and marks
// and removes ended matches.
import { createBoard } from './board.mjs';
import { mark } from './board-art.mjs';
import { changes, piecesOf } from './board-diff.mjs';
import { element, readJSON, write } from './dom.mjs';
import { follow } from './live-stream.mjs';
import { turnOf } from './watch-model.mjs';

const maxBoards = 20; // in one list
const batchDelay = 400; // ms to collect new matches before one request for their names
const endedDelay = 20_000; // ms that an ended match stays on the page
const retryDelay = 10_000; // ms before the next request for a board

const budget = 2; // ms of work in one animation frame

// workQueue returns a function that queues work. Each animation frame runs only a little
// of the queue, because layout and painting of the changes take longer than the work
// itself.
function workQueue() {
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
    this.unlisted = new Map(); // newest frame of each match that has no card yet
    this.ignored = new Set(); // matches beyond maxBoards
    this.later = workQueue();
    for (const item of list.querySelectorAll('[data-match]')) this.addCard(item);
    this.close = follow(`/live/stream${this.query}`, {
      frame: (f) => this.show(f),
      end: (m) => this.end(m),
      state: (state) => { list.dataset.connection = state; },
    });
  }

  addCard(item) {
    const { mode } = item.dataset;
    const card = { item, board: null, frame: null, waiting: false };
    card.say = (text) => { card.turn.textContent = mode ? `${mode} · ${text}` : text; };
    this.cards.set(item.dataset.match, card);
    return card;
  }

  // show stores the newest frame of a match and queues its painting. If a newer frame
  // arrives first, the older frame is never painted.
  show(frame) {
    const card = this.cards.get(frame.matchId);
    if (!card) {
      if (this.ignored.has(frame.matchId)) return undefined;
      this.unlisted.set(frame.matchId, frame);
      return this.addMatches();
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
      else setTimeout(() => { card.waiting = false; }, retryDelay);
      return;
    }
    card.waiting = false;
    const { frame } = card;
    const pieces = piecesOf(frame);
    card.board.show(frame, card.pieces ? { pieces, changed: changes(card.pieces, pieces), moving: true } : { pieces });
    card.pieces = pieces;
    card.say(card.over ?? (frame.turn > 0 ? `turn ${frame.turn}` : 'setup'));
    const seat = turnOf(frame);
    card.scores.forEach((score, s) => {
      write(score.points, frame.scores[s]);
      score.row.classList.toggle('on-turn', s === seat);
    });
  }

  async build(id, card) {
    const layout = await tryJSON(`/matches/${id}/frames?limit=1`);
    if (!layout) return;
    const link = card.item.querySelector('a') ?? card.item;
    const names = [...card.item.querySelectorAll('li')].map((li) => li.textContent.trim());
    await new Promise((done) => this.later(() => {
      card.board = createBoard(layout.board, { small: true, names });
      card.board.element.setAttribute('aria-hidden', 'true');
      card.turn = element('span', 'live-turn');
      link.prepend(card.board.element, card.turn);
      card.scores = [...card.item.querySelectorAll('li')].map((row, seat) => {
        const points = element('span', 'live-points');
        row.prepend(mark(seat));
        row.append(points);
        return { row, points };
      });
      done();
    }));
  }

  // addMatches adds cards for matches that are not on the page. One request reads the
  // bots of all matches that begin together.
  addMatches() {
    if (this.adding) return;
    this.adding = setTimeout(async () => {
      const known = new Set(this.unlisted.keys());
      const found = await tryJSON(`/live${this.query}`);
      this.adding = 0;
      for (const m of found?.matches ?? []) {
        if (!this.cards.has(m.id) && this.cards.size < maxBoards) this.list.append(this.addCard(newItem(m)).item);
      }
      for (const [id, frame] of [...this.unlisted]) {
        if (!this.cards.has(id) && !known.has(id)) continue; // the list may be older than the match
        this.unlisted.delete(id);
        if (this.cards.has(id)) this.show(frame);
        else if (found && this.cards.size >= maxBoards) this.ignored.add(id);
      }
      if (this.unlisted.size > 0) this.addMatches();
    }, batchDelay);
  }

  end(summary) {
    document.dispatchEvent(new Event('matchended')); // for refresh.mjs
    const card = this.cards.get(summary.id);
    if (!card) return;
    card.item.classList.add('ended');
    card.over = summary.status === 'completed' ? 'ended' : summary.status; // paint may still run for an earlier frame
    if (card.turn) card.say(card.over);
    setTimeout(() => {
      card.item.remove();
      this.cards.delete(summary.id);
      this.ignored.clear();
    }, endedDelay);
  }
}

// tryJSON returns null if the request fails, because a later frame repeats the request.
const tryJSON = (path) => readJSON(path).catch(() => null);

// newItem builds the list item of a match that the page does not contain yet.
function newItem(m) {
  const item = element('li', 'panel');
  item.dataset.match = m.id;
  item.dataset.mode = m.mode;
  const link = item.appendChild(element('a'));
  link.href = `/watch/${m.id}`;
  const names = link.appendChild(element('ol'));
  for (const p of m.players) names.appendChild(element('li')).append(element('bdi', '', p.botName));
  return item;
}

for (const list of document.querySelectorAll('[data-live-boards]')) new Boards(list);

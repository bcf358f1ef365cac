// The page of a match. It follows a running match and replays an ended match. It always
// shows one frame: the frame at index i of the timeline.
import { createBoard } from './board.mjs';
import { DiceChart, LineChart } from './chart.mjs';
import { element, write } from './dom.mjs';
import { follow } from './live-stream.mjs';
import { Bar } from './watch-bar.mjs';
import { Feed, partNode } from './watch-feed.mjs';
import { Hint } from './watch-hint.mjs';
import { cards, plain, sentence } from './watch-log.mjs';
import { Timeline, pointsOf, scoresOf } from './watch-model.mjs';
import { Seats } from './watch-seats.mjs';
import { Source } from './watch-source.mjs';

const speakEvery = 900; // ms between announcements to screen readers
const chartDelay = 150; // ms by which charts may lag behind the board
const settled = 250; // ms without a step before the address and the descriptions change
const connections = { connecting: 'Connecting…', live: 'Live', waiting: 'Connection lost. Reconnecting…', closed: '' };

class Watch {
  constructor(root) {
    this.root = root;
    this.id = root.dataset.watch;
    this.running = root.dataset.status === 'running';
    this.total = Number(root.dataset.events); // events of an ended match
    this.names = [...root.querySelectorAll('[data-seat] [data-name]')].map((e) => e.textContent);
    this.source = new Source(root.dataset.path);
    this.i = -1;
    this.speed = 2; // events a second
    this.view = '';
    this.newest = 0; // seq of the newest frame from the stream
    this.hands = null;
    this.spoken = [];
    this.parts = Object.fromEntries([...root.querySelectorAll('[data-part]')].map((e) => [e.dataset.part, e]));
  }

  async start() {
    const first = await (this.running ? this.load() : this.open());
    this.bar = new Bar(this.root, {
      go: (i) => this.leave(() => this.go(i)), step: (n) => this.leave(() => this.go(this.i + n, n === 1)), turn: (n) => this.leave(() => this.go(this.line.turnStart(this.i, n))),
      play: () => this.play(!this.timer), speed: (n) => this.pace(n), view: (name) => this.look(name), result: () => this.reveal(), live: () => this.follow(),
    });
    for (const sign of ['pointerover', 'focusin']) this.root.addEventListener(sign, (e) => { if (e.target.closest('.bar, .charts')) this.complete(); });
    this.seats = new Seats(this.root);
    this.feed = new Feed(this.parts.log, this.names, (i) => this.leave(() => this.go(i)));
    this.paint(first.board);
    this.root.classList.add('ready');
    addEventListener('hashchange', () => this.jump());
    this.parts.result.addEventListener('toggle', () => {
      this.root.classList.toggle('open', this.parts.result.open);
      this.complete();
    });
    this.point();
    this.extend();
    this.choose();
    if (this.running) return this.listen();
    if (!this.jump()) this.begin();
    if (document.body.matches('.kiosk')) this.play(true); // nobody can press the button
    return undefined;
  }

  // point shows the event under the pointer over the marks and the charts. A click goes there.
  point() {
    const hint = new Hint((i) => this.line.frames[i] && [this.told(i), this.counted(i)]);
    const go = (i) => this.leave(() => this.go(i));
    hint.watch(this.bar.area, (x, width) => this.bar.indexAt(x, width), go);
    for (const chart of [this.points, this.income]) hint.watch(chart.element, (x, width) => chart.indexAt(x, width), go);
    hint.watch(this.dice.element, (x, width) => this.line.rollOf(this.dice.sumAt(x, width), this.i), go);
  }

  told(i) {
    const line = element('div');
    line.append(`${this.line.frames[i].seq}: `, ...sentence(this.line.frames[i - 1] ?? null, this.line.frames[i], this.line.layout).map((part) => partNode(part, this.names)));
    return line;
  }

  counted(i) {
    const line = element('div', 'hint-scores');
    line.append(...scoresOf(this.line.frames[i]).map((n, seat) => element('b', `who seat-${seat}`, n)));
    return line;
  }

  // choose follows the parameters in the address: from, to, speed and seat.
  choose() {
    const chosen = new URLSearchParams(location.search);
    this.from = Math.max(Number(chosen.get('from')) || 1, 1);
    this.to = Number(chosen.get('to')) || Infinity;
    if (chosen.has('speed')) this.bar.pace(chosen.get('speed'));
    if (chosen.has('seat') && !this.running) this.bar.look(chosen.get('seat'));
  }

  // begin goes to the event from which the reader wants to watch.
  begin() {
    if (this.from > 1) this.complete();
    this.go(this.from - 1);
  }

  // open reads the first frames of an ended match. The method complete() reads the
  // remaining frames when the reader touches the bar or moves to another event.
  async open() {
    const first = await this.source.first();
    this.line = new Timeline(first.board, first.frames[0].seatCount);
    for (const frame of first.frames) this.line.add(frame);
    return first;
  }

  // complete reads the remaining frames, and then goes to the frame that the reader has
  // requested in the meantime.
  complete() {
    if (this.running || this.line.length >= this.total) return;
    this.loading ??= this.read().finally(() => {
      this.loading = undefined;
      this.extend();
      this.addUp();
      if (this.wanted !== undefined) this.go(this.wanted);
    });
  }

  async read() {
    try {
      for await (const page of this.source.pages(this.line.next - 1)) for (const frame of page.frames) this.line.add(frame);
    } catch {
      write(this.parts.connection, 'The rest of the match did not load. Move to another event to try again.');
    }
  }

  // load reads all frames into a new timeline.
  async load() {
    let first;
    for await (const page of this.source.pages()) {
      first ??= page;
      this.line = page === first ? new Timeline(page.board, page.frames[0].seatCount) : this.line;
      for (const frame of page.frames) this.line.add(frame);
    }
    return first;
  }

  paint(layout) {
    this.board = createBoard(layout, { names: this.names });
    this.parts.board.replaceChildren(this.board.element);
    const seats = this.line.seats;
    this.points = new LineChart('Points over the match', seats, (i, s) => scoresOf(this.line.frames[i])[s], 10);
    this.income = new LineChart('Cards from rolls over the match', seats, (i, s) => this.line.facts[i].income[s]);
    this.dice = new DiceChart();
    for (const name of ['points', 'income', 'dice']) this.parts[`${name}-chart`].append(this[name].element);
  }

  // extend updates the bar and the charts after the timeline has grown or been replaced.
  extend() {
    this.bar.extent(this.line, this.length());
    this.points.draw(this.line.length);
    this.income.draw(this.line.length);
    if (this.i < 0) return;
    this.points.at(this.i);
    this.income.at(this.i);
    this.trail();
  }

  // length returns the number of frames, including those not read yet.
  length() { return this.running ? this.line.length : Math.max(this.total, this.line.length); }

  // jump goes to the event in the address.
  jump() {
    const seq = /^#(\d+)$/.exec(location.hash)?.[1];
    if (!seq) return false;
    if (this.line.frames[this.i]?.seq !== Number(seq)) this.leave(() => this.go(Math.max(Number(seq), 1) - 1));
    return true;
  }

  // go shows a frame. If moving is true, it animates the new pieces.
  go(to, moving = false) {
    if (to >= this.line.length && this.loading) {
      this.wanted = to;
      return;
    }
    this.wanted = undefined;
    const i = Math.min(Math.max(to, 0), this.line.length - 1);
    if (i === this.i && !this.changed) return;
    this.changed = false;
    this.i = i;
    const frame = this.line.frames[i];
    const before = this.line.frames[i - 1] ?? null;
    const facts = this.line.facts[i];
    const over = frame.event.kind === 'end';
    const parts = sentence(before, frame, this.line.layout);
    const text = plain(parts, this.names);
    this.board.show(frame, { ...facts, moving });
    this.seats.show(frame, facts, (seat) => this.cardsOf(seat), over);
    this.bar.at(i, this.length(), text);
    this.tell(frame, parts);
    this.points.at(i);
    this.income.at(i);
    this.feed.follow(this.line, i, this.following);
    this.say(text);
    this.trail();
    this.settle(frame, facts);
    this.root.dispatchEvent(new CustomEvent('shown', { detail: frame.event })); // for view-decision.mjs
  }

  // trail updates the parts of the charts that may lag behind.
  trail() {
    this.trailing ??= setTimeout(() => {
      this.trailing = undefined;
      const facts = this.line.facts[this.i];
      if (!facts) return; // load is replacing the timeline; the next call to go calls trail again
      this.dice.show(facts.dice, facts.rolls);
      this.points.mark(this.i);
      this.income.mark(this.i);
    }, chartDelay);
  }

  // tell writes the texts above and below the board.
  tell(frame, parts) {
    const { now, turn, offer, deck } = this.parts;
    now.replaceChildren(...parts.map((part) => partNode(part, this.names)));
    now.normalize(); // a flex box drops text nodes of spaces
    now.classList.toggle('one', parts.filter((part) => part.seat !== undefined || part.talk).length === 1); // the name takes the rest of the line
    write(turn, frame.turn > 0 ? `Turn ${frame.turn}` : 'Setup');
    write(deck, `${frame.deckRemaining} cards in the deck`);
    this.parts.dice.hidden = !frame.dice;
    if (frame.dice) [...this.parts.dice.children].forEach((die, i) => { if (die.dataset.face !== String(frame.dice[i])) { die.dataset.face = frame.dice[i]; die.setAttribute('aria-label', `die ${frame.dice[i]}`); } });
    const open = frame.openTrade;
    if (!open && !offer.classList.contains('shown')) return;
    offer.classList.toggle('shown', Boolean(open));
    const strike = ['timeout', 'illegal'].includes(frame.event?.kind); // its text may need both lines of a phone
    offer.classList.toggle('told', strike || open?.from === frame.event?.seat); // or the text above already describes it
    offer.replaceChildren(...(open ? [...offered(open), ...this.line.answersTo(frame)].map((part) => partNode(part, this.names)) : []));
  }

  // settle does work that can wait until stepping pauses.
  settle(frame, facts) {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.board.describe(frame);
      this.dice.describe(facts.dice, facts.rolls);
      if (!this.timer && !this.following) history.replaceState(history.state, '', `#${frame.seq}`);
    }, settled);
  }

  // say announces events to screen readers, several together if they arrive quickly.
  say(text) {
    this.spoken.push(text);
    this.speaking ??= setTimeout(() => {
      this.parts.say.textContent = this.spoken.slice(-4).join('. ');
      this.spoken = [];
      this.speaking = undefined;
    }, this.running ? speakEvery : settled);
  }

  // leave handles a move by the reader: it stops replaying and following.
  leave(move) {
    this.play(false);
    this.complete();
    move();
    this.stay(this.running && this.i === this.line.length - 1);
  }

  play(on) {
    clearInterval(this.timer);
    this.timer = 0;
    if (on) this.complete();
    if (on && !this.running && this.i >= Math.min(this.to, this.length()) - 1) this.begin();
    if (on) this.timer = setInterval(() => this.advance(), 1000 / this.speed);
    this.bar.playing(Boolean(this.timer));
  }

  advance() {
    if (this.i === this.to - 1) this.play(false);
    else if (this.i < this.line.length - 1) this.go(this.i + 1, this.speed <= 8);
    else if (this.running) this.follow();
    else if (!this.loading) this.play(false);
  }

  pace(n) {
    this.speed = n;
    if (this.timer) this.play(true);
  }

  // look chooses whose cards are shown. The API hides the cards of a running match.
  async look(name) {
    this.view = name;
    if (name !== '' && !this.hands) {
      this.parts.view.setAttribute('aria-busy', 'true');
      this.hands = await this.loadHands();
      this.parts.view.removeAttribute('aria-busy');
    }
    this.changed = true;
    this.go(this.i);
  }

  async loadHands() {
    const hands = [];
    for await (const page of this.source.pages(0, 'all')) {
      for (const f of page.frames) hands.push(f.hand.map((hand, s) => ({ hand, devs: [...f.devCards[s], ...f.devBoughtThisTurn[s]] })));
    }
    return hands;
  }

  cardsOf(seat) {
    if (this.view === '' || !this.hands) return null;
    return this.view === 'all' || Number(this.view) === seat ? this.hands[this.i]?.[seat] ?? null : null;
  }

  // addUp writes the points into the result, once the last frame is known. The page of a
  // match that had ended already contains them.
  addUp() {
    const last = this.line.frames.at(-1);
    for (const seat of last.event.data?.scores?.keys() ?? []) {
      write(this.parts.result.querySelector(`[data-result="${seat}"] [data-slot="total"]`), scoresOf(last)[seat]);
      write(this.parts.result.querySelector(`[data-sum="${seat}"] [data-slot="sum"]`), pointsOf(last, seat));
    }
  }

  reveal() {
    if (!this.parts.result.hidden) this.parts.result.open = !this.parts.result.open;
  }

  // The methods below are for running matches.

  listen() {
    this.arrived = performance.now();
    this.follow();
    this.close = follow(`/live/${this.id}/stream`, {
      frame: (f) => this.receive(f),
      end: (summary) => this.finish(summary),
      state: (state) => this.connect(state),
      stale: (seconds) => this.connect('waiting', `Paused: the arena’s log is unavailable. This board may be ${Math.round(seconds)} s old.`),
    });
    this.ticking = setInterval(() => this.tick(), 1000);
    this.jump();
  }

  // connect shows the state of the stream.
  connect(state, text = connections[state]) {
    write(this.parts.connection, text);
    this.parts.connection.dataset.state = state;
  }

  // receive handles a frame of the stream, and fetches frames that the stream skipped.
  async receive(frame) {
    this.newest = Math.max(this.newest, frame.seq);
    if (this.parts.connection.dataset.state === 'waiting') this.connect('live');
    if (this.filling) return; // fill also fetches this frame
    if (frame.seq > this.line.next) await this.fill();
    else this.take(frame);
  }

  // fill fetches frames up to the newest frame. It also fetches frames that arrive
  // during the fill, because there may be no later frame that triggers another fill. It
  // stops when the match ends, because load then fetches all frames again.
  async fill() {
    this.filling = true;
    const { line } = this;
    try {
      for (let from = 0; from < line.next && line.next <= this.newest;) {
        from = line.next;
        for await (const page of this.source.pages(from - 1)) {
          if (this.line !== line) return;
          for (const frame of page.frames) this.take(frame);
        }
      }
    } catch { /* the next frame tries again */ } finally { this.filling = false; }
  }

  take(frame) {
    if (!this.line.add(frame)) return;
    this.arrived = performance.now();
    this.feed.append(this.line);
    this.growing ??= requestAnimationFrame(() => {
      this.growing = undefined;
      this.extend();
      this.changed = true;
      this.go(this.following ? this.line.length - 1 : this.i, this.following);
    });
  }

  // tick shows how long the match has waited for the seats that owe an answer.
  tick() {
    const ms = performance.now() - this.arrived;
    this.seats.clock(this.following && ms >= 1000 ? this.line.frames.at(-1).owed : [], `thinking: ${Math.floor(ms / 1000)} s`);
  }

  follow() {
    if (!this.running) return;
    this.play(false);
    this.stay(true);
    this.go(this.line.length - 1);
  }

  stay(on) {
    this.following = on;
    this.root.classList.toggle('following', on);
  }

  // finish loads the match again, now with the events' data, and offers the replay.
  async finish(summary) {
    this.close();
    clearInterval(this.ticking);
    this.seats.clock([], '');
    const seq = this.line.frames[this.i].seq;
    const last = this.following;
    try {
      await this.load();
    } catch { /* keep the frames from the stream */ }
    this.running = false;
    this.total = this.line.length;
    this.stay(false);
    this.root.dataset.status = summary.status;
    this.feed.reset();
    this.extend();
    this.changed = true;
    this.go(last ? this.line.length - 1 : this.line.indexOf(seq));
    this.conclude(summary);
  }

  // conclude writes the result in the same form as the page of an ended match.
  conclude(summary) {
    write(this.parts.connection, summary.status === 'completed' ? 'The match has ended' : aborted(summary.reason));
    this.parts.status.textContent = summary.status;
    for (const option of this.parts.view.options) option.disabled = false;
    this.parts.view.disabled = false;
    for (const p of summary.players.toSorted((a, b) => (a.placement ?? 0) - (b.placement ?? 0))) {
      const row = this.parts.result.querySelector(`[data-result="${p.seat}"]`);
      row.querySelector('[data-slot="placement"]').textContent = p.placement ?? '–';
      const version = summary.seats?.[p.seat]?.version;
      write(row.querySelector('[data-slot="version"]'), version ? `version ${version}` : '');
      write(row.querySelector('[data-slot="mark"]'), markOf(summary.seats?.[p.seat]));
      const sum = this.parts.result.querySelector(`[data-sum="${p.seat}"]`);
      const { ratingBefore, ratingAfter } = summary.seats?.[p.seat] ?? {};
      if (typeof ratingAfter === 'number') write(sum.querySelector('[data-slot="ratings"]'), `${decimal(ratingBefore)} → ${decimal(ratingAfter)}`);
      row.parentElement.append(row, sum); // by placement
      row.querySelector('[data-slot="delta"]').textContent = p.ratingDelta === null ? '–' : signed(p.ratingDelta);
    }
    this.addUp();
    this.parts.result.hidden = false;
    this.parts.result.open = true;
    this.say(`The match has ended. ${summary.players.map((p) => `${this.names[p.seat]}: ${p.placement ?? 'unplaced'}`).join(', ')}`);
  }
}

// aborted says why a match was aborted, in the server's words.
function aborted(reason) {
  switch (reason) {
    case 'wall_clock': return 'Aborted: the time limit was reached';
    case 'operator': return 'Aborted by the operator';
    case 'beacon': return 'Voided: the beacon’s round did not arrive in time';
    default: return 'The match was aborted';
  }
}

// markOf returns the same words as the function markText of the server.
function markOf(seat) {
  if (!seat) return '';
  if (seat.missed) return 'missed: sent no answer';
  if (seat.resigned) return 'resigned';
  if (seat.strikes === 0) return '';
  return seat.strikes === 1 ? '1 strike' : `${seat.strikes} strikes`;
}

// decimal formats a rating the way the server does.
const decimal = (n) => n.toFixed(1).replace('-', '−');

// signed formats a change of a rating the way the server does.
function signed(n) {
  const size = Math.abs(n).toFixed(1);
  if (size === '0.0') return '±0';
  return `${n > 0 ? '+' : '−'}${size}`;
}

function offered(o) {
  return [{ seat: o.from }, ' gives ', ...cards(o.give), ' for ', ...cards(o.get), ' ', ...(o.to === undefined || o.to === null ? ['to all'] : ['to ', { seat: o.to }]), ...(o.talk ? [': ', { talk: o.talk }] : [])];
}

const root = document.querySelector('[data-watch]');
if (root) {
  new Watch(root).start().catch((error) => {
    console.warn(error);
    root.querySelector('[data-part="connection"]').textContent = 'This match did not load. Reload the page to try again.';
  });
}

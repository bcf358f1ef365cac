// The list of events. It contains only a window of events around the current event, so that
// long matches cost no more than short matches. A single step moves the window by one event.
// While the reader drags over many events, and after a far jump, the list follows once the
// reader stops.
import { icon } from './board-art.mjs';
import { element } from './dom.mjs';
import { sentence } from './watch-log.mjs';

const windowSize = 80; // events
const pause = 150; // ms without a step before the list follows

export class Feed {
  constructor(list, names, go) {
    this.list = list;
    this.names = names;
    this.from = 0;
    this.rows = [];
    this.current = null;
    this.shown = 0; // the event of the last step
    this.stepped = -Infinity; // when it was shown
    list.addEventListener('click', (e) => {
      const row = e.target.closest('[data-at]');
      if (row) go(Number(row.dataset.at));
    });
    new ResizeObserver(() => this.scroll()).observe(list);
  }

  // follow shows event i of a timeline as the current event. The events of a live match may
  // arrive without a pause, so live is true for them.
  follow(timeline, i, live) {
    clearTimeout(this.timer);
    const drags = !live && Math.abs(i - this.shown) > 1 && performance.now() - this.stepped < pause;
    this.shown = i;
    this.stepped = performance.now();
    if (!drags && this.pointAt(timeline, i)) return;
    this.timer = setTimeout(() => {
      if (this.pointAt(timeline, i)) return;
      this.write(timeline, Math.max(0, i - Math.floor(windowSize * 0.6)));
      this.point(this.rows[i - this.from]);
    }, this.rows.length === 0 ? 0 : pause);
  }

  // pointAt makes event i the current one if it is in the window or next to it, and reports
  // whether it is.
  pointAt(timeline, i) {
    if (i === this.from + this.rows.length && this.rows.length > 0) this.extend(timeline, i);
    if (i === this.from - 1) this.extend(timeline, i);
    const row = this.rows[i - this.from];
    if (row) this.point(row);
    return Boolean(row);
  }

  // extend adds the event before or after the window, and drops the event at the other end.
  extend(timeline, i) {
    const row = this.row(timeline, i);
    if (i < this.from) {
      this.from = i;
      this.rows.unshift(row);
      this.list.prepend(row);
      if (this.rows.length > windowSize) this.rows.pop().remove();
      return;
    }
    row.classList.toggle('later', this.rows.length > 0);
    this.rows.push(row);
    this.list.append(row);
    if (this.rows.length > windowSize) {
      this.rows.shift().remove();
      this.from++;
    }
  }

  // append adds a frame that has just arrived, if the window ends before it.
  append(timeline) {
    const i = timeline.length - 1;
    if (this.from + this.rows.length === i && this.rows.length < windowSize) this.extend(timeline, i);
  }

  reset() {
    this.rows = [];
    this.from = 0;
    this.list.replaceChildren();
  }

  write(timeline, from) {
    const to = Math.min(timeline.length, from + windowSize);
    this.from = from;
    this.rows = [];
    for (let i = from; i < to; i++) this.rows.push(this.row(timeline, i));
    this.list.replaceChildren(...this.rows);
  }

  row(timeline, i) {
    const before = timeline.frames[i - 1] ?? null;
    const frame = timeline.frames[i];
    const row = element('li', `event event-${frame.event.kind}`);
    row.dataset.at = i;
    const link = row.appendChild(element('a', '', frame.seq));
    link.href = `#${frame.seq}`;
    link.tabIndex = -1; // the arrow keys step through the events
    const text = row.appendChild(element('span'));
    text.append(...sentence(before, frame, timeline.layout).map((part) => partNode(part, this.names)));
    return row;
  }

  // point marks the row of the current event, and the rows of later events. It changes only
  // rows that differ.
  point(row) {
    if (!row || row === this.current) return;
    this.current?.classList.remove('current');
    this.current?.removeAttribute('aria-current');
    this.current = row;
    row.classList.add('current');
    row.setAttribute('aria-current', 'true');
    const at = Number(row.dataset.at) - this.from;
    for (let i = at; i >= 0 && this.rows[i].classList.contains('later'); i--) this.rows[i].classList.remove('later');
    for (let i = at + 1; i < this.rows.length && !this.rows[i].classList.contains('later'); i++) this.rows[i].classList.add('later');
    this.scroll();
  }

  // scroll moves the current event to the lower end of the visible part.
  scroll() {
    const row = this.current;
    if (row?.isConnected) this.list.scrollTop = row.offsetTop + row.offsetHeight - this.list.clientHeight + 8;
  }
}

// partNode returns a DOM node for a part of a sentence. Names and talk come from bots, so
// they go into <bdi>, which isolates their text direction.
export function partNode(part, names) {
  if (typeof part === 'string') return document.createTextNode(part);
  if (part.card) {
    const card = element('span', 'card', part.sign ?? '');
    card.title = part.card;
    card.append(`${part.n}`, icon(part.card));
    return card;
  }
  if (part.accepts !== undefined) { // an answer to an offer
    const answer = element('b', `who answer seat-${part.seat}`, part.accepts ? '✓' : '✗');
    answer.title = `${names[part.seat]} ${part.accepts ? 'accepts' : 'declines'}`;
    return answer;
  }
  const [node, text] = part.talk !== undefined
    ? [element('q'), part.talk]
    : [element('b', `who seat-${part.seat}`), names[part.seat] ?? `Seat ${part.seat}`];
  node.append(element('bdi', '', text));
  return node;
}

// The log of events: the stretch around the one that is shown, so that a match
// of any length costs the same. It grows and shrinks by single steps; after a
// far jump it is written anew, when there is time.
import { sentence } from './watch-log.mjs';

const stretch = 80; // events
const pause = 80; // ms without a step, before the log follows a far jump

export class Feed {
  constructor(list, names, go) {
    this.list = list;
    this.names = names;
    this.from = 0;
    this.rows = [];
    this.current = null;
    list.addEventListener('click', (e) => {
      const row = e.target.closest('[data-at]');
      if (row) go(Number(row.dataset.at));
    });
    new ResizeObserver(() => this.scroll()).observe(list);
  }

  // follow shows event i of a timeline as the current one.
  follow(timeline, i) {
    clearTimeout(this.timer);
    if (i === this.from + this.rows.length && this.rows.length > 0) this.extend(timeline, i);
    if (i === this.from - 1) this.extend(timeline, i);
    const row = this.rows[i - this.from];
    if (row) return this.point(row);
    this.timer = setTimeout(() => {
      this.write(timeline, Math.max(0, i - Math.floor(stretch * 0.6)));
      this.point(this.rows[i - this.from]);
    }, this.rows.length === 0 ? 0 : pause);
    return undefined;
  }

  // extend adds the event before the stretch, or behind it, and drops one at its
  // other end.
  extend(timeline, i) {
    const row = this.row(timeline, i);
    if (i < this.from) {
      this.from = i;
      this.rows.unshift(row);
      this.list.prepend(row);
      if (this.rows.length > stretch) this.rows.pop().remove();
      return;
    }
    this.rows.push(row);
    this.list.append(row);
    if (this.rows.length > stretch) {
      this.rows.shift().remove();
      this.from++;
    }
  }

  // append adds a frame that has just arrived, where the stretch reaches it.
  append(timeline) {
    const i = timeline.length - 1;
    if (this.from + this.rows.length === i && this.rows.length < stretch) this.extend(timeline, i);
  }

  reset() {
    this.rows = [];
    this.from = 0;
    this.list.replaceChildren();
  }

  write(timeline, from) {
    const to = Math.min(timeline.length, from + stretch);
    this.from = from;
    this.rows = [];
    for (let i = from; i < to; i++) this.rows.push(this.row(timeline, i));
    this.list.replaceChildren(...this.rows);
  }

  row(timeline, i) {
    const before = timeline.frames[i - 1] ?? null;
    const frame = timeline.frames[i];
    const row = document.createElement('li');
    row.className = `event event-${frame.event.kind}`;
    row.dataset.at = i;
    const link = row.appendChild(document.createElement('a'));
    link.href = `#${frame.seq}`;
    link.textContent = frame.seq;
    const text = row.appendChild(document.createElement('span'));
    text.append(...sentence(before, frame).map((part) => said(part, this.names)));
    return row;
  }

  point(row) {
    if (!row || row === this.current) return;
    this.current?.classList.remove('current');
    this.current?.removeAttribute('aria-current');
    this.current = row;
    row.classList.add('current');
    row.setAttribute('aria-current', 'true');
    this.scroll();
  }

  // scroll has the current event at the end of what is seen.
  scroll() {
    const row = this.current;
    if (row?.isConnected) this.list.scrollTop = row.offsetTop + row.offsetHeight - this.list.clientHeight + 8;
  }
}

// said writes a part of a sentence: what bots chose is text, kept apart from
// what stands around it.
export function said(part, names) {
  if (typeof part === 'string') return document.createTextNode(part);
  if (part.talk !== undefined) {
    const quote = document.createElement('q');
    quote.append(bdi(part.talk));
    return quote;
  }
  const name = document.createElement('b');
  name.className = `who seat-${part.seat}`;
  name.append(bdi(names[part.seat] ?? `Seat ${part.seat}`));
  return name;
}

function bdi(text) {
  const element = document.createElement('bdi');
  element.textContent = text;
  return element;
}

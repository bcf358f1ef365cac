// The bar under the board: the current event, the marks, and the buttons and keys that
// move to another event.
import { svg } from './board-art.mjs';

// The shape of a mark shows its kind, and its color shows the seat. Shapes are centered and
// 7 to 8 pixels wide. lane is the row of the bar, from the top.
const shapes = {
  build: { lane: 0, d: 'm-3.5 3.5v-4l3.5-3 3.5 3v4z' },
  city: { lane: 0, d: 'm-4 3.5v-4h2v-3h4v3h2v4z' },
  trade: { lane: 1, d: 'm-4 0 4-4 4 4-4 4z' },
  robbery: { lane: 2, d: 'm-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z' },
  award: { lane: 2, d: 'm0-4 4 7.5h-8z' },
  strike: { lane: 2, d: 'm-3.5-2 1.5-1.5 2 2 2-2 1.5 1.5-2 2 2 2-1.5 1.5-2-2-2 2-1.5-1.5 2-2z' },
  talk: { lane: 3, d: 'm-3.5-3.5h7v5h-3.5l-2 2v-2h-1.5z' },
};
const nearby = 6; // pixels between the pointer and a mark that it means
const scrolling = new Set(['ArrowUp', 'ArrowDown', 'Home', 'End', ' ']);
const speeds = [1, 2, 4, 8, 16, 32];

export class Bar {
  // on contains the callbacks go(i), step(n), turn(n), play(), speed(n), view(name),
  // result(), live().
  constructor(root, on) {
    this.root = root;
    this.on = on;
    this.range = root.querySelector('[data-range]');
    this.place = root.querySelector('[data-place]');
    this.wanted = root.querySelector('[data-wanted]');
    this.speed = root.querySelector('[data-speed]');
    this.view = root.querySelector('[data-view]');
    this.help = root.querySelector('[data-help]');
    this.area = root.querySelector('[data-marks]');
    new ResizeObserver(() => this.paint()).observe(this.area);
    this.range.addEventListener('input', () => on.go(Number(this.range.value)));
    this.speed?.addEventListener('change', () => on.speed(Number(this.speed.value)));
    this.view?.addEventListener('change', () => on.view(this.view.value));
    root.addEventListener('click', (e) => this.press(e.target.closest('[data-do]')?.dataset.do));
    this.wanted.addEventListener('keydown', (e) => {
      if (e.key === 'Enter') this.seek();
      if (e.key === 'Enter' || e.key === 'Escape') this.range.focus(); // a button would react to the same key
    });
    this.wanted.addEventListener('blur', () => this.asking(false));
    this.help.addEventListener('close', () => { if (this.help.contains(document.activeElement)) document.activeElement.blur(); });
    document.addEventListener('keydown', (e) => this.key(e));
  }

  press(name) {
    const actions = {
      play: () => this.on.play(), back: () => this.on.step(-1), next: () => this.on.step(1), result: () => this.on.result(),
      'turn-back': () => this.on.turn(-1), 'turn-next': () => this.on.turn(1), first: () => this.on.go(0), last: () => this.on.go(Infinity),
      live: () => this.on.live(), ask: () => this.ask(), help: () => this.help.showModal(), 'close-help': () => this.help.close(),
    };
    actions[name]?.();
  }

  // ask lets the reader write the number of an event. Enter goes to the event.
  ask() {
    this.asking(true);
    this.wanted.value = this.place.textContent.split(' ')[0];
    this.wanted.select();
  }

  asking(on) {
    this.wanted.hidden = !on;
    this.place.parentElement.hidden = on;
  }

  seek() {
    const at = parseInt(this.wanted.value.replace('#', ''), 10);
    this.asking(false);
    if (at > 0) this.on.go(at - 1);
  }

  // key ignores a key that the focused control uses itself.
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || this.help?.open) return;
    const tag = e.target.tagName;
    if (tag === 'SELECT' || tag === 'TEXTAREA' || (tag === 'INPUT' && e.target.type !== 'range')) return;
    if ((e.key === ' ' || e.key === 'Enter') && /^(BUTTON|A|SUMMARY)$/.test(tag) && !this.help.contains(e.target)) return;
    if (scrolling.has(e.key) && !this.visible()) return; // the reader scrolls through the rest of the page
    const action = this.actionOf(e.key);
    if (!action) return;
    e.preventDefault();
    action();
  }

  visible() {
    const { top, bottom } = this.range.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }

  actionOf(key) {
    const { on } = this;
    const actions = {
      ' ': () => on.play(), ArrowLeft: () => on.step(-1), ArrowRight: () => on.step(1), ArrowUp: () => on.turn(-1), ArrowDown: () => on.turn(1),
      Home: () => on.go(0), End: () => on.go(Infinity), '+': () => this.faster(1), '-': () => this.faster(-1), r: () => on.result(), l: () => on.live(), g: () => this.ask(),
      p: () => this.look(''), a: () => this.look('all'), '?': () => this.press('help'),
    };
    if (/^[1-4]$/.test(key)) return () => this.look(String(Number(key) - 1));
    return actions[key];
  }

  // look chooses a view if it is available.
  look(name) {
    if (!this.view || this.view.disabled || ![...this.view.options].some((o) => o.value === name)) return;
    this.view.value = name;
    this.on.view(name);
  }

  faster(by) {
    this.pace(speeds[Math.min(Math.max(speeds.indexOf(Number(this.speed.value)) + by, 0), speeds.length - 1)]);
  }

  // pace chooses a number of events a second, if the list contains it.
  pace(n) {
    if (!speeds.includes(Number(n))) return;
    this.speed.value = String(n);
    this.on.speed(Number(n));
  }

  // extent sets the number of frames and draws the marks of a timeline.
  extent(timeline, length) {
    this.last = Math.max(length - 1, 1);
    this.range.max = length - 1;
    this.marks = timeline.marks;
    this.area.parentElement.style.setProperty('--read', `${(100 * timeline.length) / length}%`);
    this.paint();
  }

  paint() {
    const width = this.area.clientWidth;
    if (!this.marks || width === 0) return;
    const bySeat = Map.groupBy(this.marks, (m) => m.seat);
    this.area.replaceChildren(...[...bySeat].map(([seat, marks]) => svg('path', {
      class: seat === undefined ? '' : `seat-${seat}`,
      d: marks.map((m) => `M${((m.at / this.last) * width).toFixed(1)} ${shapes[m.kind].lane * 8 + 4}${shapes[m.kind].d}`).join(''),
    })));
  }

  // indexAt returns the event at a place of the marks: the nearest mark, or the event itself.
  indexAt(x, width) {
    const at = Math.min(Math.max((x / width) * this.last, 0), this.last);
    const far = (m) => Math.abs(m.at - at);
    const mark = this.marks.reduce((best, m) => (best && far(best) <= far(m) ? best : m), undefined);
    return mark && (far(mark) / this.last) * width <= nearby ? mark.at : Math.round(at);
  }

  at(i, length, text) {
    this.range.value = i;
    this.range.setAttribute('aria-valuetext', `Event ${i + 1} of ${length}: ${text}`);
    this.place.textContent = `${i + 1} / ${length}`;
  }

  playing(on) {
    const button = this.root.querySelector('[data-do="play"]');
    button.setAttribute('aria-pressed', String(on));
    button.setAttribute('aria-label', on ? 'Pause' : 'Play');
  }
}

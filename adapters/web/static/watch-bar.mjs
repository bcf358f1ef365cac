// The bar under the board: the current event, the marks, and the buttons and keys that
// move to another event.
import { svg } from './board-art.mjs';

// lanes lists the kinds of marks from the top of the bar to the bottom.
const lanes = ['build', 'city', 'trade', 'robbery', 'award', 'strike', 'talk'];
const speeds = [1, 2, 4, 8, 16, 32];

export class Bar {
  // on contains the callbacks go(i), step(n), turn(n), play(), speed(n), view(name),
  // result(), live().
  constructor(root, on) {
    this.root = root;
    this.on = on;
    this.range = root.querySelector('[data-range]');
    this.place = root.querySelector('[data-place]');
    this.link = root.querySelector('[data-link]');
    this.speed = root.querySelector('[data-speed]');
    this.view = root.querySelector('[data-view]');
    this.help = root.querySelector('[data-help]');
    this.paths = Object.fromEntries(lanes.map((kind) => [kind, svg('path', { class: `mark-${kind}` })]));
    root.querySelector('[data-marks]').append(...Object.values(this.paths));
    this.range.addEventListener('input', () => on.go(Number(this.range.value)));
    this.speed?.addEventListener('change', () => on.speed(Number(this.speed.value)));
    this.view?.addEventListener('change', () => on.view(this.view.value));
    root.addEventListener('click', (e) => this.press(e.target.closest('[data-do]')?.dataset.do));
    this.help.addEventListener('close', () => { if (this.help.contains(document.activeElement)) document.activeElement.blur(); });
    document.addEventListener('keydown', (e) => this.key(e));
  }

  press(name) {
    const actions = {
      play: () => this.on.play(), back: () => this.on.step(-1), next: () => this.on.step(1), result: () => this.on.result(),
      'turn-back': () => this.on.turn(-1), 'turn-next': () => this.on.turn(1), first: () => this.on.go(0), last: () => this.on.go(Infinity),
      live: () => this.on.live(), help: () => this.help.showModal(), 'close-help': () => this.help.close(),
    };
    actions[name]?.();
  }

  // key ignores a key that the focused control uses itself.
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || this.help?.open) return;
    const tag = e.target.tagName;
    if (tag === 'SELECT' || tag === 'TEXTAREA' || (tag === 'INPUT' && e.target.type !== 'range')) return;
    if ((e.key === ' ' || e.key === 'Enter') && /^(BUTTON|A|SUMMARY)$/.test(tag) && !this.help.contains(e.target)) return;
    const action = this.actionOf(e.key);
    if (!action) return;
    e.preventDefault();
    action();
  }

  actionOf(key) {
    const { on } = this;
    const actions = {
      ' ': () => on.play(), ArrowLeft: () => on.step(-1), ArrowRight: () => on.step(1), ArrowUp: () => on.turn(-1), ArrowDown: () => on.turn(1),
      Home: () => on.go(0), End: () => on.go(Infinity), '+': () => this.faster(1), '-': () => this.faster(-1), r: () => on.result(), l: () => on.live(),
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
    const last = Math.max(length - 1, 1);
    this.range.max = length - 1;
    for (const kind of lanes) {
      const y = lanes.indexOf(kind) * 4.3 + 1;
      const d = timeline.marks.filter((m) => m.kind === kind).map((m) => `M${((m.at / last) * 1000).toFixed(1)} ${y.toFixed(1)}v3.6`).join('');
      this.paths[kind].setAttribute('d', d);
    }
  }

  at(i, frame, length, text) {
    this.range.value = i;
    this.range.setAttribute('aria-valuetext', `Event ${i + 1} of ${length}: ${text}`);
    this.place.textContent = `${i + 1} / ${length}`;
    this.link.href = `#${frame.seq}`;
  }

  playing(on) {
    const button = this.root.querySelector('[data-do="play"]');
    button.setAttribute('aria-pressed', String(on));
    button.setAttribute('aria-label', on ? 'Pause' : 'Play');
  }
}

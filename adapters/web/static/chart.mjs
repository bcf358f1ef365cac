// Charts of a match. One kind shows a line for each seat, over the events of the match. The
// other compares the actual dice rolls with the expected rolls.
import { svg } from './board-art.mjs';
import { expected } from './watch-model.mjs';

const width = 420;
const height = 212;
const tall = 170; // height of the bars of dice, which have numbers above and below

// LineChart draws values(i, seat) for frames 0..n-1, on a scale that reaches at least
// top. Lines differ in color and dashes, and end in the mark of their seat.
export class LineChart {
  constructor(title, seats, values, top = 2) {
    this.values = values;
    this.seats = seats;
    this.least = top;
    this.lines = Array.from({ length: seats }, (_, s) => svg('path', { class: `line seat-${s}` }));
    this.tips = Array.from({ length: seats }, (_, s) => svg('use', { href: `#hx-mark-${s}`, class: `tip seat-${s}` }));
    // The veil hides the part of the lines after the current frame. A browser can move
    // it without painting the chart again.
    this.veil = document.createElement('div');
    this.veil.className = 'veil';
    this.scale = svg('g', { class: 'scale' });
    this.title = svg('title');
    this.title.textContent = title;
    this.element = document.createElement('div');
    this.element.className = 'line-chart';
    const box = `-52 -12 ${width + 66} ${height + 24}`;
    this.element.append(
      svg('svg', { viewBox: box, class: 'chart', role: 'img' }, this.title, ...this.lines),
      this.veil,
      svg('svg', { viewBox: box, class: 'chart', 'aria-hidden': 'true' }, this.scale, ...this.tips),
    );
  }

  // draw draws the lines for n frames.
  draw(n) {
    this.n = n;
    this.top = Math.max(this.least, this.highest(n));
    this.lines.forEach((line, s) => line.setAttribute('d', this.path(n, s)));
    this.scale.replaceChildren(...ticks(this.top).flatMap((v) => rule(v, this.y(v))));
  }

  highest(n) {
    let most = 0;
    for (let i = 0; i < n; i++) for (let s = 0; s < this.seats; s++) most = Math.max(most, this.values(i, s));
    return most;
  }

  x(i) { return this.n < 2 ? 0 : Math.round((i / (this.n - 1)) * width * 10) / 10; }

  // indexAt returns the frame at a place of the chart, with x and its width in pixels.
  indexAt(x, pixels) {
    const part = ((x / pixels) * (width + 66) - 52) / width;
    return Math.round(Math.min(Math.max(part, 0), 1) * (this.n - 1));
  }

  // pointAt returns the place of frame i in the window, at half the height of the chart.
  pointAt(i) {
    const box = this.element.getBoundingClientRect();
    return { clientX: box.left + ((this.x(i) + 52) / (width + 66)) * box.width, clientY: box.top + box.height / 2 };
  }

  y(v) { return Math.round((height - (v / this.top) * height) * 10) / 10; }

  path(n, seat) {
    let d = `M0 ${this.y(this.values(0, seat))}`;
    for (let i = 1, last = this.values(0, seat); i < n; i++) {
      const value = this.values(i, seat);
      if (value !== last) d += `H${this.x(i)}V${this.y(value)}`;
      last = value;
    }
    return `${d}H${this.x(n - 1)}`;
  }

  // at hides the lines after frame i.
  at(i) { this.veil.style.transform = `translateX(${this.n < 2 ? 100 : (i / (this.n - 1)) * 100}%)`; }

  // mark moves the marks of the seats to frame i.
  mark(i) {
    const x = this.x(i);
    this.tips.forEach((tip, s) => { tip.style.transform = `translate(${x}px, ${this.y(this.values(i, s))}px)`; });
  }
}

function ticks(top) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((s) => top / s <= 5) ?? 1000;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

function rule(value, y) {
  const text = svg('text', { x: -8, y: y + 5 });
  text.textContent = value;
  return [svg('line', { x1: 0, x2: width, y1: y, y2: y }), text];
}

// DiceChart shows how often each sum was rolled, and how often each is expected.
export class DiceChart {
  constructor() {
    this.bars = [];
    this.wants = [];
    this.counts = [];
    const columns = Array.from({ length: 11 }, (_, i) => this.column(i + 2));
    this.element = svg('svg', { viewBox: '-4 -24 452 220', class: 'chart dice-chart', role: 'img' }, svg('title'), svg('desc'), ...columns);
    [this.title, this.text] = this.element.children;
    this.title.textContent = 'Dice rolls, actual and expected';
  }

  column(sum) {
    const g = svg('g', { transform: `translate(${(sum - 2) * 41} 0)`, class: sum === 7 ? 'seven' : '' });
    const bar = svg('rect', { class: 'bar', width: 32, height: tall });
    const want = svg('line', { class: 'want', x1: -2, x2: 34 });
    const label = svg('text', { x: 16, y: tall + 20 });
    const count = svg('text', { x: 16, y: -4, class: 'count' });
    label.textContent = sum;
    g.append(bar, want, label, count);
    this.bars[sum] = bar;
    this.wants[sum] = want;
    this.counts[sum] = count;
    return g;
  }

  // sumAt returns the sum at a place of the chart, with x and its width in pixels.
  sumAt(x, pixels) { return Math.min(Math.max(2 + Math.floor(((x / pixels) * 452 - 4) / 41), 2), 12); }

  show(dice, rolls) {
    if (this.shown === dice) return;
    this.shown = dice;
    const top = 1.08 * Math.max(1, ...dice, expected[7] * rolls);
    for (let sum = 2; sum <= 12; sum++) {
      const part = dice[sum] / top;
      this.bars[sum].style.transform = `translateY(${(1 - part) * tall}px) scaleY(${part})`;
      this.wants[sum].style.transform = `translateY(${(1 - (expected[sum] * rolls) / top) * tall}px)`;
      const count = String(dice[sum]);
      if (this.counts[sum].textContent !== count) this.counts[sum].textContent = count;
    }
  }

  // describe updates the text for screen readers.
  describe(dice, rolls) {
    const texts = dice.map((n, sum) => (sum < 2 ? '' : `${sum}: ${n} of ${(expected[sum] * rolls).toFixed(1)} expected`)).filter(Boolean);
    this.text.textContent = `${rolls} rolls. ${texts.join('; ')}.`;
  }
}

// The win probability on the page with the statistics of a match: computes it on request,
// and draws the table of the page as a graph. A point of the graph leads to its turn in the
// replay, and so does the slider below it.
import { mark, paint, svg } from './board-art.mjs';
import { LineChart } from './chart.mjs';
import { element, write } from './dom.mjs';
import { Hint } from './watch-hint.mjs';

const id = 'win-probability';
const marksPerLine = 5;

// WinChart draws a straight line for each seat, with a band of one standard error.
class WinChart extends LineChart {
  constructor(rows) {
    const seats = rows[0].cells.length;
    super('Chance of each seat to win, in percent, by turn', seats, (i, s) => rows[i].cells[s].wins, 100);
    this.rows = rows;
    this.bands = this.lines.map((_, s) => svg('path', { class: `band seat-${s}` }));
    this.lines[0].before(...this.bands);
    this.along = svg('g');
    this.tips[0].before(this.along);
    for (const picture of this.element.querySelectorAll('svg')) picture.setAttribute('viewBox', '-52 -12 486 252');
    this.draw(rows.length);
    this.at(rows.length - 1);
  }

  draw(n) {
    super.draw(n);
    this.bands.forEach((band, s) => band.setAttribute('d', this.band(n, s)));
    this.along.replaceChildren(...this.lines.flatMap((_, s) => this.marksOf(n, s)));
    this.scale.append(...this.turns(n));
  }

  points(n, value) { return Array.from({ length: n }, (_, i) => `${this.x(i)} ${this.y(value(i))}`); }

  path(n, seat) { return `M${this.points(n, (i) => this.values(i, seat)).join('L')}`; }

  band(n, seat) {
    const edge = (sign) => this.points(n, (i) => Math.min(Math.max(this.values(i, seat) + sign * this.rows[i].cells[seat].error, 0), 100));
    return `M${[...edge(1), ...edge(-1).reverse()].join('L')}z`;
  }

  // marksOf returns the marks along a line. Those of different seats are at different turns.
  marksOf(n, seat) {
    return Array.from({ length: marksPerLine }, (_, k) => {
      const i = Math.floor(((k + (seat + 0.5) / this.seats) / marksPerLine) * (n - 1));
      return svg('use', { href: `#hx-mark-${seat}`, class: `along seat-${seat}`, x: this.x(i), y: this.y(this.values(i, seat)) });
    });
  }

  turns(n) {
    const step = [5, 10, 20, 50, 100, 200].find((s) => n / s <= 8) ?? 500;
    return this.rows.flatMap(({ turn }, i) => {
      if (turn % step !== 0) return [];
      const text = svg('text', { class: 'turn', x: this.x(i), y: 232 });
      text.textContent = turn;
      return [text];
    });
  }
}

// slider moves over the turns with the arrow keys, like the slider of a replay. Enter opens the
// turn.
function slider(chart, hint, rows, names) {
  const range = element('input');
  range.type = 'range';
  range.max = rows.length - 1;
  range.value = range.max;
  range.ariaLabel = 'Turn';
  range.title = 'Turn (← →). Enter opens it.';
  const told = ({ link, cells }) => `${link.textContent}: ${cells.map(({ wins }, s) => `${names[s]} ${Math.round(wins)}%`).join(', ')}`;
  const choose = () => {
    const i = Number(range.value);
    chart.mark(i);
    range.ariaValueText = told(rows[i]);
  };
  const show = () => {
    choose();
    hint.show(chart.pointAt(range.value), Number(range.value));
  };
  choose();
  range.addEventListener('input', show);
  range.addEventListener('focus', () => { if (range.matches(':focus-visible')) show(); });
  range.addEventListener('blur', () => hint.hide());
  range.addEventListener('keydown', (e) => { if (e.key === 'Enter') rows[range.value].link.click(); });
  chart.element.addEventListener('pointermove', () => {
    range.value = hint.at;
    choose();
  });
  return range;
}

// read returns the rows of the table.
function read(table) {
  return [...table.tBodies[0].rows].map((row, i) => ({
    link: row.querySelector('a'),
    turn: i === 0 ? 0 : Number(/\d+/.exec(row.cells[0].textContent)?.[0]), // NaN at the end
    cells: [...row.querySelectorAll('[data-wins]')].map(({ dataset }) => ({ wins: 100 * dataset.wins, error: 100 * dataset.error })),
  }));
}

// legend names the seats, as in the header of the table.
function legend(table) {
  const list = element('figcaption');
  for (const seat of table.tHead.querySelectorAll('th')) {
    const item = element('span');
    item.append(...seat.cloneNode(true).childNodes);
    list.append(item);
  }
  list.append(element('span', '', 'Bands: ± one standard error'));
  return list;
}

function draw(section) {
  const table = section.querySelector('table');
  if (!table) return;
  paint();
  const rows = read(table);
  const chart = new WinChart(rows);
  const hint = new Hint((i) => [
    element('div', '', rows[i].link.textContent),
    ...rows[i].cells.map(({ wins, error }, s) => {
      const line = element('div');
      line.append(mark(s), ` ${Math.round(wins)}% ± ${Math.round(error)}`);
      return line;
    }),
  ]);
  hint.watch(chart.element, (x, width) => chart.indexAt(x, width), (i) => rows[i].link.click());
  const names = [...table.tHead.querySelectorAll('bdi')].map((name) => name.textContent);
  const figure = element('figure', 'win-graph');
  figure.append(chart.element, slider(chart, hint, rows, names), legend(table));
  const details = section.querySelector('details');
  details.before(figure);
  details.open = false;
}

// compute reads the page with the win probability, and shows the section of that page. The
// arena may refuse: the section then says why, and has a link to try again.
async function compute(section, link) {
  if (link.ariaBusy === 'true') return;
  link.ariaBusy = 'true';
  const status = section.querySelector('[role="status"]');
  write(status, 'The arena is computing it. This takes a few seconds.');
  let why = 'Try again.';
  try {
    const answer = await fetch(link.href, { headers: { accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const next = page.getElementById(id);
    if (!next) { // an error page, for example if the reader is over a limit
      why = page.querySelector('.detail').textContent;
      throw new Error(why);
    }
    section.replaceWith(next);
    next.focus({ preventScroll: true });
    if (next.querySelector('table')) history.replaceState(history.state, '', link.href);
    begin(next);
  } catch {
    link.ariaBusy = null;
    write(status, `The win probability did not load. ${why}`);
  }
}

function begin(section) {
  draw(section);
  const link = section.querySelector('[data-compute]');
  link?.addEventListener('click', (event) => {
    event.preventDefault();
    compute(section, link);
  });
}

begin(document.getElementById(id));

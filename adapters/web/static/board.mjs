// A board in SVG. It is painted once. To show a frame, it changes only the pieces that
// differ from the previous frame.
import { changes, empty, isCity, noChange, none, piecesOf, seatOf } from './board-diff.mjs';
import { land, paint, picture, svg } from './board-art.mjs';
import { edges, hexVertices, hexes, outline, vertices } from './board-geometry.mjs';
import { describeIsland, describePieces } from './board-text.mjs';

const house = 'M-10 10V-3L0-12 10-3v13z';
const keep = 'M-15 11V-2h6v-7l7-6 7 6v4h10v16z';
const robber = 'M-9 15c0-9 4-11 5-13a7.500 7.500 0 1 1 8 0c1 2 5 4 5 13z';
let count = 0;

const boards = new WeakMap(); // by element

// createBoard paints {hexes, ports}. A small board leaves out details that 160 pixels
// cannot show. names lists the bots in seat order, for the screen-reader text.
export function createBoard(layout, { small = false, names = [] } = {}) {
  paint();
  const board = new Board(layout, small, names);
  boards.set(board.element, board);
  return board;
}

// The key i shows or hides the ids on all boards of the page.
document.addEventListener('keydown', (e) => {
  if (e.key !== 'i' || e.ctrlKey || e.metaKey || e.altKey || e.target.matches('select, textarea, input:not([type=range])')) return;
  for (const element of document.querySelectorAll('.hx-island')) boards.get(element)?.label();
});

class Board {
  constructor(layout, small, names) {
    this.layout = layout;
    this.names = names;
    this.shown = empty;
    this.roads = new Array(edges.length);
    this.towns = new Array(vertices.length);
    this.fresh = [];
    this.lit = [];
    this.element = document.createElement('div');
    this.element.className = small ? 'hx-island hx-small' : 'hx-island';
    this.paintLand(small);
    this.paintPieces(small);
  }

  paintLand(small) {
    const id = `board-${++count}`;
    this.title = svg('title', { id: `${id}-title` });
    this.text = svg('desc', { id: `${id}-desc` });
    this.title.textContent = 'The island';
    this.ground = describeIsland(this.layout);
    this.text.textContent = this.ground;
    this.element.append(picture({ class: 'island-land', role: 'img', 'aria-labelledby': `${id}-title`, 'aria-describedby': `${id}-desc` }, small));
    this.element.firstChild.append(this.title, this.text, land(this.layout, small));
  }

  paintPieces(small) {
    this.layers = ['glow', 'ways', 'places', 'outlaw'].map((name) => svg('g', { class: name }));
    const top = picture({ class: 'island-pieces', 'aria-hidden': 'true' }, small);
    top.append(...this.layers);
    this.glows = new Array(hexes.length);
    this.bandit = svg('g', { class: 'bandit', visibility: 'hidden' }, svg('path', { d: robber }));
    this.layers[3].append(this.bandit);
    this.element.append(top);
  }

  // show paints a frame. The pieces that the frame changed are marked as fresh. If moving
  // is true, show animates them.
  show(frame, { pieces: next = piecesOf(frame), changed = noChange, moving = false } = {}) {
    const todo = changes(this.shown, next);
    for (const e of todo.roads) this.putRoad(e, next.roads[e]);
    for (const v of todo.towns) this.putTown(v, next.towns[v]);
    if (todo.bandit) this.putBandit(next.bandit);
    this.shown = next;
    this.element.classList.toggle('still', !moving);
    this.freshen(changed);
    this.light(frame.event?.kind === 'roll' ? frame.dice[0] + frame.dice[1] : 0, next.bandit);
  }

  // label shows or hides the ids of hexes, vertices and edges, as docs/rules.md numbers them.
  label(on = this.ids?.getAttribute('visibility') !== 'visible') {
    if (on && !this.ids) this.layers[3].before(this.ids = svg('g', { class: 'ids' }, ...hexes.map((at, id) => idAt(at.x, at.y + 38, id, 'id')), ...edges.map(([v, w], id) => idAt((vertices[v].x + vertices[w].x) / 2, (vertices[v].y + vertices[w].y) / 2, id, 'id id-edge')), ...vertices.map((at, id) => idAt(at.x, at.y, id, 'id id-vertex'))));
    this.ids?.setAttribute('visibility', on ? 'visible' : 'hidden');
  }

  // attempt marks the hexes, edges and vertices of an action, whether or not it was legal.
  attempt({ hexes: h, edges: e, vertices: v }) {
    this.layers[3].before(svg('g', { class: 'attempt' },
      ...h.map((id) => svg('polygon', { points: outline(hexVertices[id], 0.93, hexes[id]) })),
      ...e.map((id) => svg('line', ends(id))),
      ...v.map((id) => svg('circle', { cx: vertices[id].x, cy: vertices[id].y, r: 17 }))));
  }

  // describe updates the text for screen readers.
  describe(frame) {
    this.text.textContent = `${this.ground} ${describePieces(frame, this.layout, this.names)}`;
  }

  putRoad(e, piece) {
    if (piece === none) return hide(this.roads[e]);
    const road = (this.roads[e] ??= this.layers[1].appendChild(layRoad(e)));
    show(road, `road seat-${piece}`);
  }

  putTown(v, piece) {
    if (piece === none) return hide(this.towns[v]);
    const town = (this.towns[v] ??= this.layers[2].appendChild(layTown(v)));
    if (town.piece !== piece) build(town.firstChild.children, piece);
    town.piece = piece;
    show(town, `town seat-${seatOf(piece)}`);
  }

  putBandit(hex) {
    if (hex === none) return hide(this.bandit);
    const { x, y } = hexes[hex];
    const offset = 26; // next to the token or the sign
    this.bandit.style.transform = `translate(${x + offset}px, ${y - 4}px)`;
    this.bandit.setAttribute('visibility', 'visible');
  }

  freshen(changed) {
    for (const piece of this.fresh) piece.removeAttribute('data-fresh');
    this.fresh = [...changed.roads.map((e) => this.roads[e]), ...changed.towns.map((v) => this.towns[v])].filter(Boolean);
    if (changed.bandit) this.fresh.push(this.bandit);
    for (const piece of this.fresh) piece.setAttribute('data-fresh', '');
  }

  // light highlights the hexes that produce cards for a roll.
  light(sum, bandit) {
    for (const hex of this.lit) hide(this.glows[hex]);
    this.lit = sum === 0 ? [] : this.layout.hexes.filter((h) => h.token === sum && h.id !== bandit).map((h) => h.id);
    for (const hex of this.lit) {
      this.glows[hex] ??= this.layers[0].appendChild(svg('polygon', { points: outline(hexVertices[hex], 0.93, hexes[hex]) }));
      show(this.glows[hex], 'lit');
    }
  }
}

function idAt(x, y, id, className) {
  const text = svg('text', { x, y: y + 3.5, class: className });
  text.textContent = id;
  return text;
}

// ends returns the ends of a road on an edge.
function ends(e) {
  const [v, w] = edges[e].map((id) => vertices[id]);
  const trim = 0.17;
  return { x1: mix(v.x, w.x, trim), y1: mix(v.y, w.y, trim), x2: mix(w.x, v.x, trim), y2: mix(w.y, v.y, trim) };
}

function layRoad(e) {
  const line = ends(e);
  return svg('g', {}, svg('line', { ...line, class: 'case' }), svg('line', { ...line, class: 'way' }), svg('line', { ...line, class: 'tread' }));
}

const mix = (a, b, part) => Math.round((a + (b - a) * part) * 10) / 10;

function layTown(v) {
  const { x, y } = vertices[v];
  const body = svg('g', { class: 'body' }, svg('path', { class: 'case' }), svg('path', { class: 'wall' }), svg('use', { class: 'sigil' }));
  return svg('g', { transform: `translate(${x} ${y})` }, body);
}

function build([edge, wall, sign], piece) {
  edge.setAttribute('d', isCity(piece) ? keep : house);
  wall.setAttribute('d', isCity(piece) ? keep : house);
  sign.setAttribute('href', `#hx-mark-${seatOf(piece)}`);
  sign.setAttribute('y', isCity(piece) ? 4 : 2);
}

function hide(element) {
  element?.setAttribute('visibility', 'hidden');
}

// show sets the class only if it differs, because most hidden pieces reappear unchanged.
function show(element, className) {
  if (element.getAttribute('class') !== className) element.setAttribute('class', className);
  element.setAttribute('visibility', 'visible');
}

// Draws the symbols and patterns of boards, once per document, and the parts of a board
// that never change. Colors come from board.css. Each color also has a shape or a
// letter.
import { coast, hexVertices, hexes, outline, portPlace, smallViewBox, vertices, viewBox } from './board-geometry.mjs';

const space = 'http://www.w3.org/2000/svg';

// svg creates an SVG element.
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// picture creates an empty SVG with the size of a board.
export function picture(attributes, small) {
  const { x, y, width, height } = small ? smallViewBox : viewBox;
  return svg('svg', { viewBox: `${x} ${y} ${width} ${height}`, ...attributes });
}

// Symbols are centered at 0,0 and about 24 units wide.
const symbols = {
  brick: ['M-12-8h11v7h-11zM1-8h11v7H1zM-12 1h5v7h-5zM-5 1H6v7H-5zM8 1h4v7H8z'],
  lumber: ['M0-13 8-3H4l6 8H2v6h-4V5h-8l6-8h-4z'],
  wool: ['M-7-7a5 5 0 0 1 8-1 5 5 0 0 1 8 3 4 4 0 0 1 0 8 5 5 0 0 1-8 2 5 5 0 0 1-8 0 5 5 0 0 1-2-9 4 4 0 0 1 2-3zM-5 6h3v5h-3zM3 6h3v5H3z'],
  grain: ['M-1 12V-2h2v14zM0-13c3 3 3 6 0 9-3-3-3-6 0-9zM-2 0c-5 0-7-2-7-6 5 0 7 2 7 6zM2 0c5 0 7-2 7-6-5 0-7 2-7 6zM-2 7c-5 0-7-2-7-6 5 0 7 2 7 6zM2 7c5 0 7-2 7-6-5 0-7 2-7 6z'],
  ore: ['M-13 9-5-9l5 8 3-5 10 15zM-5-9l-3 7 3-1 2 2 1-2z'],
  desert: ['M-1 11V-10a2.5 2.5 0 0 1 5 0V0h3v-5a2 2 0 0 1 4 0v6a3 3 0 0 1-3 3H4v7zM-4 6h-3a3 3 0 0 1-3-3v-5a2 2 0 0 1 4 0v4h2z'],
};

// The marks of the seats: a disc, a triangle, a square, a diamond.
const marks = ['M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0', 'M0-6 6 5H-6z', 'M-4.6-4.6h9.2v9.2h-9.2z', 'M0-6.4 6.4 0 0 6.4-6.4 0z'];

const patterns = {
  brick: [16, 10, 'M0 .5h16M0 5.5h16M4 .5v5M12 5.5V10'],
  lumber: [14, 14, 'M3.5 9v4M1 9.500 3.500 4.500 6 9.500zM10.500 2v4M8 2.500 10.500-2.500 13 2.500z'],
  wool: [14, 12, 'M2 5q2-3 4 0M9 11q2-3 4 0'],
  grain: [10, 10, 'M2.5 0v10M7.500 0v10M2.500 3l2-2M7.500 8l2-2'],
  ore: [16, 12, 'M0 9l4-6 4 6M8 3l4-6 4 6M8 15l4-6 4 6'],
  desert: [14, 14, 'M3 4h.1M10 11h.1'],
};

// paint adds the symbols to the document once.
export function paint() {
  if (document.getElementById('hx-art')) return;
  const art = svg('svg', { id: 'hx-art', class: 'hx-art', width: 0, height: 0, 'aria-hidden': 'true' });
  for (const [name, [d]] of Object.entries(symbols)) art.append(svg('symbol', { id: `hx-${name}`, overflow: 'visible' }, svg('path', { d })));
  marks.forEach((d, seat) => art.append(svg('symbol', { id: `hx-mark-${seat}`, overflow: 'visible' }, svg('path', { d }))));
  for (const [name, [width, height, d]] of Object.entries(patterns)) {
    const tile = svg('pattern', { id: `hx-fill-${name}`, width, height, patternUnits: 'userSpaceOnUse' });
    tile.append(svg('path', { d, class: `hx-grain hx-grain-${name}` }));
    art.append(tile);
  }
  document.body.append(art);
}

// icon creates a symbol for use in text.
export function icon(name, className = '') {
  return svg('svg', { viewBox: '-14 -14 28 28', class: `icon icon-${name} ${className}`, 'aria-hidden': 'true' }, svg('use', { href: `#hx-${name}` }));
}

// mark creates a seat's mark in its color.
export function mark(seat) {
  return svg('svg', { viewBox: '-8 -8 16 16', class: `mark seat-${seat}`, 'aria-hidden': 'true' }, svg('use', { href: `#hx-mark-${seat}` }));
}

// land draws the parts of a board that never change. A small board has few elements,
// because a page can hold many boards.
export function land(layout, small) {
  const g = svg('g', { class: 'land' });
  g.append(svg('polygon', { class: 'beach', points: outline(coast, 1.055) }));
  for (const resource of new Set(layout.hexes.map((hex) => hex.resource))) {
    const d = layout.hexes.filter((hex) => hex.resource === resource).map((hex) => `M${outline(hexVertices[hex.id], 0.965, hexes[hex.id])}z`).join('');
    g.append(svg('path', { class: `hex hex-${resource}`, d }), svg('path', { d, fill: `url(#hx-fill-${resource})` }));
  }
  const numbered = layout.hexes.filter((hex) => hex.token !== null);
  if (small) {
    g.append(smallTokens(numbered.filter(often), 'token often'), smallTokens(numbered.filter((hex) => !often(hex)), 'token'));
    return g;
  }
  for (const hex of layout.hexes) {
    const { x, y } = hexes[hex.id];
    g.append(svg('use', { href: `#hx-${hex.resource}`, class: `sign sign-${hex.resource}`, x, y: hex.token === null ? y : y - 25 }));
  }
  for (const hex of numbered) g.append(token(hex));
  for (const port of layout.ports) g.append(...harbour(port));
  return g;
}

// ways returns how many of the 36 possible rolls have the sum on a token.
export const ways = (n) => 6 - Math.abs(7 - n);

const often = ({ token: n }) => n === 6 || n === 8;

function token(hex) {
  const { x, y } = hexes[hex.id];
  const n = hex.token;
  const g = svg('g', { class: often(hex) ? 'token often' : 'token', transform: `translate(${x} ${y + 12})` });
  g.append(svg('circle', { r: 18 }), number(n, 0, 4));
  for (let i = 0; i < ways(n); i++) g.append(svg('circle', { class: 'pip', r: 1.7, cx: (i - (ways(n) - 1) / 2) * 4.6, cy: 11 }));
  return g;
}

function smallTokens(numbered, className) {
  const d = numbered.map(({ id }) => `M${hexes[id].x - 25} ${hexes[id].y}a25 25 0 1 0 50 0a25 25 0 1 0-50 0z`).join('');
  return svg('g', { class: className }, svg('path', { d }), ...numbered.map(({ id, token: n }) => number(n, hexes[id].x, hexes[id].y + 11)));
}

function number(n, x, y) {
  const text = svg('text', { x, y });
  text.textContent = n;
  return text;
}

function harbour(port) {
  const { x, y } = portPlace(port.vertices);
  const parts = port.vertices.map((v) => svg('line', { class: 'jetty', x1: vertices[v].x, y1: vertices[v].y, x2: x, y2: y }));
  const sign = svg('g', { class: `port port-${port.resource ?? 'any'}`, transform: `translate(${x} ${y})` });
  const rate = svg('text', { y: port.resource ? 16 : 6 });
  rate.textContent = `${port.rate}:1`;
  sign.append(svg('circle', { r: 22 }));
  if (port.resource) sign.append(svg('use', { href: `#hx-${port.resource}`, class: `sign-${port.resource}`, transform: 'translate(0 -6) scale(.82)' }));
  sign.append(rate);
  return [...parts, sign];
}

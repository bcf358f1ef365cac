// The strict JSON of docs/audit.md. An integer becomes a number. A number with a fraction
// or an exponent becomes a Real, because 1.0 is not the integer 1.

export class Malformed extends Error {}

export class Real {
  constructor(value) { this.value = value; }
}

const order = new WeakMap(); // the keys of each object in the order of the text

// keysOf returns the keys of a parsed object in the order of the text. JavaScript itself
// puts keys that look like integers first.
export const keysOf = (object) => order.get(object) ?? Object.keys(object);

export const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v) && !(v instanceof Real);
export const isInt = (v) => typeof v === 'number';
export const isNatural = (v) => isInt(v) && v >= 0 && v <= 2 ** 53;

const space = /[ \t\n\r]*/y;
const word = /true|false|null/y;
const digits = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const words = { true: true, false: false, null: null };

// parse reads one value with a limited depth of nesting.
export function parse(text, deepest = 1000) {
  let at = 0;
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  const skip = () => { take(space); return text[at]; };
  const fail = (what) => { throw new Malformed(`${what} at ${at}`); };
  const readString = () => {
    const found = take(string) ?? fail('no string');
    const value = JSON.parse(found[0]);
    return half.test(value) ? fail('half of a surrogate pair') : value;
  };
  const list = (close, item) => {
    at += 1;
    if (skip() === close) { at += 1; return; }
    for (;;) {
      item();
      const next = skip();
      at += 1;
      if (next === close) return;
      if (next !== ',') fail('no comma');
      skip();
    }
  };
  const value = (depth) => {
    const first = skip();
    if (first === '{' || first === '[') {
      if (depth >= deepest) fail('nested too deep');
      return first === '{' ? object(depth + 1) : array(depth + 1);
    }
    if (first === '"') return readString();
    const known = take(word);
    if (known) return words[known[0]];
    const number = take(digits) ?? fail('no value');
    return number[1] === undefined && number[2] === undefined ? Number(number[0]) : new Real(Number(number[0]));
  };
  const array = (depth) => {
    const items = [];
    list(']', () => items.push(value(depth)));
    return items;
  };
  const object = (depth) => {
    const result = Object.create(null);
    const keys = [];
    list('}', () => {
      skip();
      const key = readString();
      if (key in result) fail('a duplicate key');
      if (skip() !== ':') fail('no colon');
      at += 1;
      keys.push(key);
      result[key] = value(depth);
    });
    order.set(result, keys);
    return result;
  };
  const result = value(0);
  if (skip() !== undefined) fail('more than one value');
  return result;
}

// same reports whether two values are equal; 1.0 is not the integer 1.
export function same(a, b) {
  if (a instanceof Real || b instanceof Real) return a instanceof Real && b instanceof Real && a.value === b.value;
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((v, i) => same(v, b[i]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((k) => k in b && same(a[k], b[k]));
}

// canonical formats a value by RFC 8785.
export function canonical(v) {
  if (v instanceof Real) return String(v.value);
  if (Array.isArray(v)) return `[${v.map(canonical).join(',')}]`;
  if (isObject(v)) return `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`).join(',')}}`;
  return typeof v === 'number' ? String(v) : JSON.stringify(v);
}

// format formats a value for messages.
export const format = (v) => (typeof v === 'string' ? v : canonical(v));

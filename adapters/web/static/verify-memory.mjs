// The heads of signed logs that this browser has seen. The page keeps the newest head
// of each platform key and mode in localStorage. A later head must continue it, so the
// arena cannot change or drop results between two visits without a message on the page.
import { base64, continues, readHead, signed, unbase64 } from './verify-log.mjs';
import { parse } from './verify-json.mjs';

const prefix = 'hexarena head ';
const nameOf = (platformKey, mode) => `${prefix}${mode} ${platformKey}`;

// load returns all stored heads, or null if the browser stores nothing for this page.
export function load(storage) {
  try {
    return Object.fromEntries(Object.keys(storage).filter((name) => name.startsWith(prefix)).map((name) => [name, storage.getItem(name)]));
  } catch {
    return null;
  }
}

// store keeps a head, unless another tab has stored a newer one in the meantime.
export function store(storage, { platformKey, mode, note }) {
  const name = nameOf(platformKey, mode);
  try {
    const before = read(storage.getItem(name), mode);
    if (before === null || before.size < readHead(note, mode).size) storage.setItem(name, note);
  } catch { /* this browser stores nothing for this page */ }
}

// read parses a stored head. It returns null if there is none.
function read(note, mode) {
  try {
    return readHead(note, mode);
  } catch {
    return null;
  }
}

// recall compares a valid head with the stored heads. It returns an object with one of
// these fields:
//   - checked: the head continues the one that this browser saw before;
//   - unchecked: why it was not compared;
//   - fork: lines of text that explain why the head does not continue the earlier one.
// newest is the head to store, or null.
export async function recall(stored, { platformKey, mode, note }, get, pause, tries) {
  if (stored === null) return { unchecked: 'this browser stores nothing for this page', newest: null };
  const newest = { platformKey, mode, note };
  const known = stored[nameOf(platformKey, mode)];
  const earlier = read(known, mode);
  if (earlier === null) {
    const other = Object.keys(stored).some((name) => name.startsWith(nameOf('', mode)) && name !== nameOf(platformKey, mode));
    return { unchecked: other ? 'the arena has another platform key than when this browser last saw it' : 'this browser has not seen a head of this log before', newest };
  }
  let later = note;
  for (let i = 0; i < tries && readHead(later, mode).size < earlier.size; i++) { // another process of the arena may lag behind
    await pause();
    later = await get(`/log/${mode}/head`);
  }
  const shown = readHead(later, mode);
  if (await signed(shown, platformKey) !== false && await grew(earlier, shown, mode, get) && await grew(readHead(note, mode), shown, mode, get)) {
    return { checked: 1, newest: { ...newest, note: later } };
  }
  return {
    fork: [
      `This browser saw a signed head of ${describe(earlier)}. Now the arena shows a head of ${describe(shown)}, and does not prove that the one continues the other.`,
      'The arena changed or dropped results, shows different readers different logs, or lost data. Keep both heads as evidence.',
      known, later,
    ],
    newest: null,
  };
}

const describe = (head) => `${head.size} results with the root ${base64(head.root)}`;

// grew reports whether the arena proves that the log of one head begins with the log of
// another.
async function grew(from, to, mode, get) {
  if (from.size === 0 || from.size >= to.size) return from.size === 0 || continues(from, to, []);
  const proof = await get(`/log/${mode}/consistency?from=${from.size}&to=${to.size}`);
  return proof !== null && continues(from, to, parse(proof).hashes.map(unbase64));
}

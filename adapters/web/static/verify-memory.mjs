// The signed heads that this browser has seen. The page keeps the newest head of each
// log in localStorage. A later head must continue it. So the page notices if the arena
// changes or removes entries between two visits.
import { proofFromTiles } from './verify-ladder.mjs';
import { base64, continues, readHead, signed, unbase64 } from './verify-log.mjs';
import { parse } from './verify-json.mjs';

// Each mode has two logs. The one named log contains the results, and the one named
// ladder contains all events of the ladder.
const logs = {
  log: { name: 'log of results', head: (mode) => `/log/${mode}/head`, prove: proofFromArena },
  ladder: { name: 'ladder', head: (mode) => `/ladder/${mode}/checkpoint`, prove: proofFromTiles },
};

const prefix = 'hexarena head ';
const nameOf = ({ log, mode, platformKey }) => `${prefix}${log} ${mode} ${platformKey}`;

// load returns all stored heads, or null if the browser does not let this page store data.
export function load(storage) {
  try {
    return Object.fromEntries(Object.keys(storage).filter((name) => name.startsWith(prefix)).map((name) => [name, storage.getItem(name)]));
  } catch {
    return null;
  }
}

// store stores heads, unless another tab has stored newer ones in the meantime. A head is
// {log, mode, platformKey, note}.
export function store(storage, heads) {
  for (const head of heads) {
    const name = nameOf(head);
    try {
      const before = read(storage.getItem(name), head);
      if (before === null || before.size < read(head.note, head).size) storage.setItem(name, head.note);
    } catch { /* the browser does not let this page store data */ }
  }
}

// read parses a stored head. It returns null if the head is missing or damaged.
function read(note, { log, mode }) {
  try {
    return readHead(note, mode, log);
  } catch {
    return null;
  }
}

// remembered returns the stored head of a log, or null if this browser has not seen one.
export const remembered = (stored, log) => (stored === null ? null : read(stored[nameOf(log)], log));

// recall compares a valid head with the stored heads. The head may come with a checkpoint,
// which is a newer head of the same log. Then the checkpoint must continue both the head
// and the stored head. recall returns newest (the head to store, or null) and one of these
// fields:
//   - checked: the head continues the one that this browser saw before;
//   - unchecked: why it was not compared;
//   - fork: lines of text that explain why the head does not continue the earlier one.
export async function recall(stored, { checkpoint, ...newest }, { get, pause, tries }) {
  if (stored === null) return { unchecked: 'this browser does not let this page store data', newest: null };
  const { log, mode, platformKey, note } = newest;
  const known = stored[nameOf(newest)];
  const earlier = remembered(stored, newest);
  if (earlier === null) {
    const others = nameOf({ log, mode, platformKey: '' });
    const other = Object.keys(stored).some((name) => name.startsWith(others) && name !== nameOf(newest));
    return { unchecked: other ? 'the arena uses a different platform key than on the last visit of this browser' : 'this browser has no earlier head to compare', newest };
  }
  let later = checkpoint ?? note;
  const size = Math.max(earlier.size, readHead(note, mode, log).size);
  for (let i = 0; i < tries && readHead(later, mode, log).size < size; i++) { // another process of the arena may lag behind
    await pause();
    later = await get(logs[log].head(mode)) ?? later;
  }
  const shown = readHead(later, mode, log);
  const grew = (from) => extended(from, shown, (a, b) => logs[log].prove(a, b, mode, get));
  if (await signed(shown, platformKey) !== false && await grew(earlier) && await grew(readHead(note, mode, log))) {
    return { checked: 1, newest: { ...newest, note: later } };
  }
  return {
    fork: [
      `This browser saw a signed head of the ${mode} ${logs[log].name} with ${describe(earlier)}. Now the arena shows a head with ${describe(shown)}. The arena does not prove that the new head continues the earlier one.`,
      'The arena changed or removed entries, shows different logs to different readers, or lost data. Keep both heads as evidence.',
      known, later,
    ],
    newest: null,
  };
}

// describe names a head by its size and root.
export const describe = (head) => `${head.size} entries and the root ${base64(head.root)}`;

// extended reports whether the log of one head begins with the log of another.
async function extended(from, to, prove) {
  if (from.size === 0 || from.size >= to.size) return from.size === 0 || continues(from, to, []);
  const hashes = await prove(from.size, to.size);
  return hashes !== null && continues(from, to, hashes);
}

// proofFromArena returns the arena's proof of consistency for the log of results.
async function proofFromArena(from, to, mode, get) {
  const proof = await get(`/log/${mode}/consistency?from=${from}&to=${to}`);
  return proof === null ? null : parse(proof).hashes.map(unbase64);
}

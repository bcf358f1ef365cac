// The signed tree of a ladder: the seating of a match, and proofs that the tree has only
// grown. The arena serves the tree as C2SP tlog-tiles and tlog-proof.
import { bytesOf, hex, sha256 } from './verify-chance.mjs';
import { canonical, isObject, parse, same } from './verify-json.mjs';
import { leafHash, pair, readHead, rootOf, signed, unbase64 } from './verify-log.mjs';
import { Differs } from './verify-match.mjs';

// checkSeating compares a record with its seating in the ladder's signed tree. It
// returns {note, checkpoint, valid}: the head of the proof, the newest head of the
// tree, and whether the platform key signed the head of the proof (null if this browser
// does not support Ed25519). The parameter expected tells why the arena must publish
// the tree, or is null. checkSeating returns null only if expected is null and the
// arena publishes no tree.
export async function checkSeating({ id, mode, commitment, proof }, platformKey, expected, ask) {
  const published = await askFor(mode, proof.revision, expected, ask);
  if (published === null) return null;
  const { page, text, checkpoint } = published;
  const event = parse(page).events[0];
  if (event?.revision !== proof.revision || event.type !== 'TablesSeated') throw new Differs(0, `revision ${proof.revision}`, 'the revision of a TablesSeated event of the ladder');
  const { note, hashes } = readProof(text);
  const head = readHead(note, mode, 'ladder');
  const valid = await signed(head, platformKey);
  if (valid === false) throw new Differs(0, note.trim(), 'a head that the platform key signed');
  const entry = canonical({ revision: event.revision, sha256: hex(await sha256(bytesOf(event.data))), type: event.type });
  const root = await rootOf(await leafHash(entry), event.revision, head.size, hashes);
  if (root === null || hex(root) !== hex(head.root)) throw new Differs(0, `the seating ${entry}, which is not in the signed tree of the ladder`, 'a seating in this tree');
  const { seedKey, tables, beacon } = parse(event.data);
  const table = tables[proof.index];
  const seated = isObject(table) ? { seedKey, ...table, ...named(beacon) } : `no table ${proof.index}`;
  const recorded = { seedKey: proof.seedKey, matchId: id, bots: proof.table, commitment, ...named(proof.beacon) };
  if (!same(recorded, seated)) throw new Differs(0, recorded, seated);
  return { note, checkpoint, valid };
}

// askFor requests the seating, its proof and the newest head of the tree. Another process
// of the arena may lag behind, so askFor asks up to `tries` times. If anything is still
// missing, that is a difference. askFor returns null if nothing is expected and the arena
// publishes no tree.
async function askFor(mode, revision, expected, { get, pause, tries }) {
  for (let i = 1; ; i++) {
    const page = await get(`/ladder/${mode}/events?from=${revision}&limit=1`);
    const text = await get(`/ladder/${mode}/proof/${revision}`);
    const checkpoint = await get(`/ladder/${mode}/checkpoint`);
    if (page !== null && text !== null && checkpoint !== null) return { page, text, checkpoint };
    if (expected === null && text === null && checkpoint === null) return null;
    if (i === tries) throw new Differs(0, lack({ mode, revision, text, checkpoint }), expected ?? 'the seating of this match in the signed tree of the ladder');
    await pause();
  }
}

// lack names the first missing response.
function lack({ mode, revision, text, checkpoint }) {
  if (checkpoint === null) return `no signed head of the ${mode} ladder`;
  return `no ${text === null ? 'proof of' : 'event at'} revision ${revision} of the ${mode} ladder`;
}

// named returns the chain and the number of a beacon's round, or nothing without a beacon.
const named = (round) => (round ? { beacon: { chain: round.chain, round: round.round } } : {});

// readProof parses a tlog-proof.
function readProof(text) {
  const end = text.indexOf('\n\n');
  const [first, index, ...hashes] = text.slice(0, end).split('\n');
  if (end < 0 || first !== 'c2sp.org/tlog-proof@v1' || !/^index [0-9]+$/.test(index)) throw new Differs(0, text.slice(0, 100), 'a proof of inclusion in the format tlog-proof');
  return { note: text.slice(end + 2), hashes: hashes.map(unbase64) };
}

// proofFromTiles computes the proof that the tree of `from` entries is the beginning of
// the tree of `to` entries (RFC 6962, 2.1.2), from the tiles of the latter. It does not
// trust the tiles: the caller must check the proof with continues(). It returns null if
// a tile is missing.
export async function proofFromTiles(from, to, mode, get) {
  const tiles = new Map();
  const tile = (level, n) => {
    const width = Math.min(256, Math.floor(to / 256 ** level) - 256 * n);
    const path = `/ladder/${mode}/tile/${level}/${tileIndex(n)}${width < 256 ? `.p/${width}` : ''}`;
    if (!tiles.has(path)) tiles.set(path, get(path, 'bytes'));
    return tiles.get(path);
  };
  const node = async (level, index) => { // the root of 2^level entries
    const low = level % 8;
    const first = index * 2 ** low;
    const bytes = await tile(Math.floor(level / 8), Math.floor(first / 256));
    if (bytes === null) throw missing;
    const at = 32 * (first % 256);
    return combined(bytes.slice(at, at + 32 * 2 ** low));
  };
  const rootAt = async (start, size) => {
    const half = below(size);
    return half === 0 || half * 2 === size ? node(Math.log2(size), start / size) : pair(await rootAt(start, half), await rootAt(start + half, size - half));
  };
  const prove = async (size, start, all, whole) => {
    if (size === all) return whole ? [] : [await rootAt(start, all)];
    const half = below(all);
    return size <= half
      ? [...await prove(size, start, half, whole), await rootAt(start + half, all - half)]
      : [...await prove(size - half, start + half, all - half, false), await rootAt(start, half)];
  };
  try {
    return await prove(from, 0, to, true);
  } catch (error) {
    if (error === missing) return null;
    throw error;
  }
}

const missing = new Error('a tile is missing');

// below returns the largest power of two below n, or 0 for n = 1.
const below = (n) => (n === 1 ? 0 : 2 ** Math.floor(Math.log2(n - 1)));

async function combined(hashes) {
  if (hashes.length <= 32) return hashes;
  const half = hashes.length / 2;
  return pair(await combined(hashes.slice(0, half)), await combined(hashes.slice(half)));
}

// tileIndex writes the index of a tile in groups of three digits, such as x001/x234/067.
export function tileIndex(n) {
  const digits = String(n);
  const groups = digits.padStart(3 * Math.ceil(digits.length / 3), '0').match(/.../g);
  return groups.map((g, i) => (i < groups.length - 1 ? `x${g}` : g)).join('/');
}

// The signed log: leaves, proofs of inclusion (RFC 6962) and signed heads.
import { bytesOf, hex, joined, sha256 } from './verify-chance.mjs';
import { canonical, isNatural } from './verify-json.mjs';
import { Differs } from './verify-match.mjs';

const fields = ['id', 'mode', 'status', 'players', 'startedAt', 'endedAt', 'seed', 'replay', 'commitment', 'proof'];

export const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
export const unbase64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

// leafOf returns the text of a match's leaf.
export function leafOf(record) {
  const missing = fields.filter((f) => !(f in record));
  if (missing.length > 0) throw new Differs(0, `no ${missing[0]}`, 'every field that a leaf needs');
  return canonical(Object.fromEntries(fields.map((f) => [f, record[f]])));
}

export const leafHash = (leaf) => sha256(joined([0], bytesOf(leaf)));
export const pair = (left, right) => sha256(joined([1], left, right));

// rootOf computes the root from a leaf's hash and a proof of inclusion (RFC 9162,
// 2.1.3.2). It returns null if the proof is invalid.
export async function rootOf(hash, index, size, hashes) {
  if (!isNatural(index) || !isNatural(size) || index >= size) return null;
  let [at, last, root] = [BigInt(index), BigInt(size) - 1n, hash];
  for (const p of hashes) {
    if (last === 0n || p.length !== 32) return null;
    if (at % 2n === 1n || at === last) {
      root = await pair(p, root);
      while (at !== 0n && at % 2n === 0n) [at, last] = [at >> 1n, last >> 1n];
    } else root = await pair(root, p);
    [at, last] = [at >> 1n, last >> 1n];
  }
  return last === 0n ? root : null;
}

// continues reports whether a proof shows that the tree of a later head begins with the
// tree of an earlier one (RFC 9162, 2.1.4.2). The earlier tree has at least one leaf.
export async function continues(earlier, later, hashes) {
  if (earlier.size === later.size) return hex(earlier.root) === hex(later.root);
  if (earlier.size > later.size || hashes.length === 0 || hashes.some((h) => h.length !== 32)) return false;
  let [at, last] = [BigInt(earlier.size) - 1n, BigInt(later.size) - 1n];
  while (at % 2n === 1n) [at, last] = [at >> 1n, last >> 1n];
  const [first, ...rest] = at === 0n ? [earlier.root, ...hashes] : hashes;
  let [old, root] = [first, first];
  for (const p of rest) {
    if (last === 0n) return false;
    if (at % 2n === 1n || at === last) {
      [old, root] = [await pair(p, old), await pair(p, root)];
      while (at !== 0n && at % 2n === 0n) [at, last] = [at >> 1n, last >> 1n];
    } else root = await pair(root, p);
    [at, last] = [at >> 1n, last >> 1n];
  }
  return last === 0n && hex(old) === hex(earlier.root) && hex(root) === hex(later.root);
}

// readHead parses a signed note. It does not check the signature; signed() does. The
// argument log is 'log' for the log of results, and 'ladder' for the tree of the
// ladder's events.
export function readHead(note, mode, log = 'log') {
  const end = note.indexOf('\n\n');
  const text = note.slice(0, end + 1);
  const [origin, size, root, rest] = text.split('\n');
  const lines = note.slice(end + 2).split('\n').filter((l) => l.startsWith(`— ${origin} `));
  const fits = end > 0 && rest === '' && origin.endsWith(`/${log}/${mode}`) && /^(0|[1-9][0-9]{0,15})$/.test(size) && /^[A-Za-z0-9+/]{43}=$/.test(root) && lines.length === 1;
  if (!fits) throw new Differs(0, note.trim(), `a signed head whose origin ends with /${log}/${mode}`);
  return { text, origin, size: Number(size), root: unbase64(root), signature: unbase64(lines[0].slice(origin.length + 3)) };
}

// signed reports whether the platform key signed a head, or null if this browser does
// not support Ed25519.
export async function signed(head, platformKey) {
  const key = unbase64(platformKey);
  const name = await sha256(joined(bytesOf(`${head.origin}\n`), [1], key));
  if (head.signature.length !== 68 || hex(head.signature.slice(0, 4)) !== hex(name.slice(0, 4))) return false;
  try {
    const k = await globalThis.crypto.subtle.importKey('raw', key, { name: 'Ed25519' }, false, ['verify']);
    return await globalThis.crypto.subtle.verify({ name: 'Ed25519' }, k, head.signature.slice(4), bytesOf(head.text));
  } catch (error) {
    if (error.name === 'NotSupportedError') return null;
    throw error;
  }
}

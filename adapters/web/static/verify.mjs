// Checks a match in the reader's browser from public data (docs/audit.md), so that the
// reader need not trust the arena. It needs WebCrypto, which browsers offer only on https
// and on localhost.
import { hex } from './verify-chance.mjs';
import { Malformed, parse } from './verify-json.mjs';
import { base64, leafHash, leafOf, readHead, rootOf, signed, unbase64 } from './verify-log.mjs';
import { Differs, Match } from './verify-match.mjs';
import { checkSeating } from './verify-ladder.mjs';
import { describe, recall, remembered } from './verify-memory.mjs';

export { Differs, Malformed };

const names = ['id', 'commitment', 'seed key', 'beacon', 'seed', 'seats', 'board', 'dice', 'answers', 'refusals', 'defaults', 'strikes', 'steals', 'trades', 'awards', 'end', 'placements'];

// verify recomputes a match from the text of its record. log is {inclusion, head}: the
// arena's parsed proof of inclusion and the text of its signed head. Without log, verify
// does not check the signed log. It returns {match, events, shares, checks, unchecked,
// difference}. shares tells whose shares went into the seed: the round of a beacon, or
// the bots that sent a nonce. checks contains [name, count] pairs, and unchecked contains
// [name, reason] pairs.
export async function verify(text, { platformKey = '', seedKeys = [], log = null } = {}) {
  const record = parse(text);
  const match = new Match(record);
  const result = { match: record.id, events: 0, shares: null, checks: [], unchecked: [], difference: null };
  try {
    result.events = await match.verify({ platformKey, seedKeys });
    result.shares = sharesOf(record.proof);
    if (log) await inLog(record, log, platformKey, match, result);
  } catch (error) {
    if (!(error instanceof Differs)) throw error;
    result.difference = error;
  }
  result.checks = [...names, 'signed log'].filter((name) => match.checked[name]).map((name) => [name, match.checked[name]]);
  if (!match.checked['seed key'] && !result.difference) result.unchecked.push(['seed key', 'the arena publishes the key after the last match that uses it']);
  if (match.checked.beacon) result.unchecked.push(['signature of the beacon', 'browsers have no BLS; `arena verify` checks it']);
  if (!log) result.unchecked.push(['signed log', 'no proof was given']);
  result.unchecked.push(['rating', 'to check it, recompute the ladder with `arena verify --eventstore`']);
  return result;
}

// sharesOf returns {beacon, bots} of a valid proof, or null for a match without a proof.
function sharesOf(proof) {
  if ((proof ?? null) === null) return null;
  const { chain, round } = proof.beacon ?? {};
  return { beacon: chain ? { chain, round } : null, bots: proof.table.filter((_, i) => proof.nonces[i] !== '') };
}

// inLog checks that the record is a leaf of the tree of the signed head.
async function inLog(record, { inclusion, head }, platformKey, match, result) {
  const leaf = await leafHash(leafOf(record));
  const h = readHead(head, record.mode);
  const valid = await signed(h, platformKey);
  if (valid === false) throw new Differs(0, head.trim(), 'a head that the platform key signed');
  if (valid === null) result.unchecked.push(['signature of the log', 'this browser does not support Ed25519']);
  const root = await rootOf(leaf, inclusion.index, inclusion.size, inclusion.hashes.map(unbase64));
  if (inclusion.size !== h.size || root === null || hex(root) !== hex(h.root)) {
    throw new Differs(0, `a signed head of ${h.size} results with the root ${base64(h.root)}`, root ? `the root ${base64(root)}, as in the proof of inclusion` : 'a valid proof of inclusion');
  }
  match.count('signed log');
}

const halfSecond = () => new Promise((done) => { setTimeout(done, 500); });
const tries = 8; // the log can grow between the requests for a proof and a head

// verifyAt checks a match of the arena that serves this page. stored contains the heads
// that the browser has stored, or is null if it stores nothing. The
// result has the fields of verify and two more: fork explains why the log does not
// continue the stored heads, or is null, and newest contains the heads to store. verifyAt
// also checks the seating of the match in the ladder's tree.
export async function verifyAt(id, get = fetched, pause = halfSecond, stored = null) {
  const text = await get(`/matches/${id}`);
  const { publicKey: platformKey } = parse(await get('/.well-known/arena.json'));
  const { keys } = parse(await get('/log/keys'));
  const { mode } = parse(text);
  const log = await logOf(id, mode, get, pause);
  const found = await verify(text, { platformKey, seedKeys: keys, log });
  Object.assign(found, { fork: null, newest: [] });
  try {
    await inHistory(found, parse(text), platformKey, log.head, stored, { get, pause, tries });
  } catch (error) {
    if (!(error instanceof Differs)) throw error;
    found.difference = error;
  }
  return found;
}

// inHistory checks the seating of a match, and compares the heads of both logs with those
// that the browser has seen. ask is {get, pause, tries}.
async function inHistory(found, record, platformKey, note, stored, ask) {
  if (found.difference) return;
  const { mode } = record;
  const seating = (record.proof ?? null) === null ? null : await checkSeating(record, platformKey, expectedOf(record, platformKey, stored), ask);
  if (seating) found.checks.push(['seating', 1]);
  else found.unchecked.push(['seating', 'the arena does not publish it']);
  if (seating?.valid === null) found.unchecked.push(['signature of the ladder', 'this browser does not support Ed25519']);
  const heads = [['earlier log', { log: 'log', mode, platformKey, note }]];
  if (seating) heads.push(['earlier ladder', { log: 'ladder', mode, platformKey, note: seating.note, checkpoint: seating.checkpoint }]);
  for (const [name, head] of heads) {
    const { checked, unchecked, fork, newest } = await recall(stored, head, ask);
    if (checked) found.checks.push([name, checked]);
    if (unchecked) found.unchecked.push([name, unchecked]);
    if (fork) found.fork = [...found.fork ?? [], ...fork];
    if (newest) found.newest.push(newest);
  }
}

// expectedOf tells why the arena must publish the signed tree of the ladder: this browser
// has seen the tree, or the match has a beacon. Otherwise it returns null.
function expectedOf({ mode, proof }, platformKey, stored) {
  const earlier = remembered(stored, { log: 'ladder', mode, platformKey });
  if (earlier) return `a tree that continues the head that this browser saw, with ${describe(earlier)}`;
  return proof.beacon ? 'the seating of a match with a beacon, in the signed tree of the ladder' : null;
}

async function logOf(id, mode, get, pause) {
  let log = null;
  for (let i = 0; i < tries; i++) {
    const text = await get(`/log/${mode}/inclusion?match=${id}`);
    if (text === null) await pause();
    else {
      log = { inclusion: parse(text), head: await get(`/log/${mode}/head`) };
      if (readHead(log.head, mode).size === log.inclusion.size) return log;
    }
  }
  if (log === null) throw new Error('the signed log does not contain this match');
  return log;
}

// fetched returns the text of a response, or its bytes, or null if the status is 404.
async function fetched(path, as = 'text') {
  const answer = await fetch(path, { headers: { accept: as === 'bytes' ? '*/*' : 'application/json, text/plain' } });
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${path} responded with status ${answer.status}`);
  const body = await answer.arrayBuffer();
  return as === 'bytes' ? new Uint8Array(body) : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
}


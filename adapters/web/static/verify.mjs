// Checks a match in the reader's browser from public data (docs/audit.md), so that the
// reader need not trust the arena. It needs WebCrypto, which browsers offer only on https
// and on localhost.
import { hex } from './verify-chance.mjs';
import { Malformed, parse } from './verify-json.mjs';
import { base64, leafHash, leafOf, readHead, rootOf, signed, unbase64 } from './verify-log.mjs';
import { Differs, Match } from './verify-match.mjs';
import { recall } from './verify-memory.mjs';

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
// that the browser has stored, or is null if it stores nothing. In addition to the
// fields of verify, the result has fork, the explanation if the log does not continue
// the stored head, and newest, the head to store. Both may be null.
export async function verifyAt(id, get = fetchText, pause = halfSecond, stored = null) {
  const text = await get(`/matches/${id}`);
  const { publicKey: platformKey } = parse(await get('/.well-known/arena.json'));
  const { keys } = parse(await get('/log/keys'));
  const { mode } = parse(text);
  const log = await logOf(id, mode, get, pause);
  const found = await verify(text, { platformKey, seedKeys: keys, log });
  if (found.difference) return { ...found, fork: null, newest: null };
  const { checked, unchecked, fork = null, newest } = await recall(stored, { platformKey, mode, note: log.head }, get, pause, tries);
  if (checked) found.checks.push(['earlier head', checked]);
  if (unchecked) found.unchecked.push(['earlier head', unchecked]);
  return { ...found, fork, newest };
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

// fetchText returns the text of a response, or null if the status is 404.
async function fetchText(path) {
  const answer = await fetch(path, { headers: { accept: 'application/json, text/plain' } });
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${path} responded with status ${answer.status}`);
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await answer.arrayBuffer());
}


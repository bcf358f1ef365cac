import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Draws, bytesOf, deck, hex, joint, layout, matchID, serverSeed, sha256, shuffled, unhex } from '../../static/verify-chance.mjs';
import { Malformed, canonical, parse } from '../../static/verify-json.mjs';
import { base64, continues, leafHash, leafOf, readHead, rootOf, signed, unbase64 } from '../../static/verify-log.mjs';
import { Match } from '../../static/verify-match.mjs';
import { proofFromTiles, tileIndex } from '../../static/verify-ladder.mjs';
import { load, store } from '../../static/verify-memory.mjs';
import { Differs, verify, verifyAt } from '../../static/verify.mjs';

const vectors = JSON.parse(readFileSync(new URL('../../../../docs/audit/vectors.json', import.meta.url)));
const fresh = readFileSync(process.env.FRESH, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const logged = JSON.parse(readFileSync(process.env.LOGGED));
const { heads } = logged.ladder; // by size
const some = (n, next) => Promise.all(new Array(n).fill(0).map(next));

test('draws, shuffles, boards and decks match the vectors', async () => {
  for (const x of vectors.draws) {
    const draws = new Draws(unhex(x.seed), x.purpose);
    for (const want of x.draws) assert.equal(await draws.draw(), want);
  }
  for (const x of vectors.uniform) {
    const draws = new Draws(unhex(x.seed), x.purpose);
    for (const want of x.values) assert.equal(await draws.uniform(x.n), want);
  }
  for (const x of vectors.seats) assert.deepEqual(await shuffled(unhex(x.seed), 'seats', new Array(x.seats).keys()), x.order);
  for (const x of vectors.boards) assert.deepEqual(await layout(unhex(x.seed)), { resources: x.resources, tokens: x.tokens });
  for (const x of vectors.decks) assert.deepEqual(await deck(unhex(x.seed)), x.cards);
  for (const x of vectors.dice) {
    const draws = new Draws(unhex(x.seed), 'dice');
    for (const want of x.rolls) assert.deepEqual([1 + await draws.uniform(6), 1 + await draws.uniform(6)], want);
  }
});

test('ids, server seeds and seeds match the vectors', async () => {
  for (const x of vectors.ids) assert.equal(await matchID(x.platformKey, x.mode, x.revision, x.index), x.id);
  for (const x of vectors.serverSeeds) {
    const server = await serverSeed(unhex(x.seedKey), x.id);
    assert.deepEqual([hex(server), hex(await sha256(server))], [x.serverSeed, x.commitment]);
  }
  for (const x of vectors.seeds) assert.equal(hex(await joint(unhex(x.serverSeed), x.nonces)), x.seed);
});

test('matches of the vectors verify, forgeries do not', async () => {
  for (const record of vectors.matches) {
    const found = await verify(JSON.stringify(record));
    assert.equal(found.difference, null, String(found.difference));
    assert.equal(found.events, record.replay.length);
  }
  for (const f of vectors.forgeries) {
    const record = structuredClone(vectors.matches[f.match]);
    f.path.slice(0, -1).reduce((at, key) => at[key], record)[f.path.at(-1)] = f.value;
    const { difference } = await verify(JSON.stringify(record));
    assert.equal(difference?.seq, f.seq, f.name);
  }
});

test('fresh matches verify with every check', async () => {
  assert.ok(fresh.length >= 8);
  const checked = new Set();
  for (const { record, platformKey, seedKeys } of fresh) {
    const found = await verify(record, { platformKey, seedKeys });
    assert.equal(found.difference, null, String(found.difference));
    for (const [name, count] of found.checks) if (count > 0) checked.add(name);
  }
  assert.deepEqual([...checked].sort(), ['answers', 'awards', 'beacon', 'board', 'commitment', 'defaults', 'dice', 'end', 'id', 'placements', 'refusals', 'seats', 'seed', 'seed key', 'steals', 'strikes', 'trades']);
});

test('forgeries of fresh matches are found at the same event as by package audit', async () => {
  for (const { forged, seq, name, platformKey } of fresh.flatMap((f) => f.forgeries.map((g) => ({ ...g, platformKey: f.platformKey })))) {
    const { difference } = await verify(forged, { platformKey });
    assert.equal(difference?.seq, seq, name);
  }
});

test('a record tells whose shares went into its seed', async () => {
  let beacons = 0;
  for (const { record, platformKey } of fresh) {
    const { proof } = JSON.parse(record);
    const { shares, unchecked } = await verify(record, { platformKey });
    const beacon = proof.beacon ? { chain: proof.beacon.chain, round: proof.beacon.round } : null;
    assert.deepEqual(shares, { beacon, bots: proof.table.filter((_, i) => proof.nonces[i]) });
    assert.equal(unchecked.some(([name, why]) => name === 'signature of the beacon' && why.includes('BLS')), 'beacon' in proof);
    beacons += 'beacon' in proof ? 1 : 0;
  }
  assert.ok(beacons > 0 && beacons < fresh.length);
  const { proof, commitment, ...old } = vectors.matches[0];
  assert.equal((await verify(JSON.stringify(old))).shares, null);
});

test('a wrong published seed key is found', async () => {
  const { record, platformKey, seedKeys } = fresh[0];
  const another = [{ ...seedKeys[0], key: '00'.repeat(32) }];
  assert.match(String((await verify(record, { platformKey, seedKeys: another })).difference), /; expected /);
  const hidden = await verify(record, { platformKey, seedKeys: [{ ...seedKeys[0], key: null }] });
  assert.equal(hidden.difference, null);
  assert.ok(hidden.unchecked.some(([name]) => name === 'seed key'));
});

test('leaves, roots, heads and proofs match the vectors', async () => {
  for (const x of vectors.leaves) {
    const leaf = leafOf(parse(JSON.stringify(vectors.matches[x.match])));
    if (x.leaf) assert.equal(leaf, x.leaf);
    assert.equal(hex(await leafHash(leaf)), x.hash);
  }
  for (const x of vectors.heads) {
    const head = readHead(x.head, x.mode);
    assert.deepEqual([head.size, base64(head.root)], [x.leaves.length, x.root]);
    assert.equal(await signed(head, x.platformKey), true);
    assert.equal(await signed(head, vectors.ids[0].platformKey), false);
    assert.equal(await signed({ ...head, text: head.text.replace('arena', 'arens') }, x.platformKey), false);
    assert.throws(() => readHead(x.head, 'parley'));
    assert.throws(() => readHead(x.head.replace('\n\n', '\nmore\n\n'), x.mode));
  }
  for (const x of vectors.inclusions) {
    const { leaves, root } = vectors.heads[x.head];
    const hashes = x.hashes.map(unbase64);
    assert.equal(base64(await rootOf(unhex(leaves[x.index]), x.index, leaves.length, hashes)), root);
    for (const [at, size, list] of [[x.index + 1, leaves.length, hashes], [x.index, leaves.length, [...hashes, unhex(leaves[0])]], [x.index, leaves.length * 2 + 1, hashes]]) {
      const other = await rootOf(unhex(leaves[x.index]), at, size, list);
      assert.ok(other === null || base64(other) !== root, `${at} of ${size}`);
    }
  }
});

test('consistency proofs match the vectors', async () => {
  const heads = vectors.heads.map((x) => readHead(x.head, x.mode));
  for (const x of vectors.consistencies) {
    const hashes = x.hashes.map(unbase64);
    const [from, to] = [heads[x.from], heads[x.to]];
    assert.equal(await continues(from, to, hashes), true, `${from.size} to ${to.size}`);
    for (const [a, b, list] of [
      [{ ...from, root: to.root }, to, hashes], [from, { ...to, root: from.root }, hashes], [to, from, hashes], [from, to, []],
      [from, to, [...hashes, heads[0].root]], [from, to, hashes.toSpliced(-1, 1)], [from, to, [hashes[0].slice(1), ...hashes.slice(1)]],
    ]) assert.equal(await continues(a, b, list), false, `${a.size} to ${b.size}`);
  }
  assert.equal(await continues(heads[1], heads[1], []), true);
  assert.equal(await continues(heads[1], { ...heads[1], root: heads[0].root }, []), false);
});

// readTile reads a tile of the ladder's tree.
const readTile = (path) => new Uint8Array(readFileSync(`${process.env.TILES}/${path.replace('/ladder/standard/', '')}`));

// arena responds as an arena does, from a log that the Go test wrote. The function
// change() can forge its responses. The log contains the match.
function arena(change = (path, answer) => answer, match = logged) {
  const { id } = match;
  const answers = {
    [`/matches/${id}`]: match.record, '/log/keys': '{"keys":[]}', '/.well-known/arena.json': JSON.stringify({ publicKey: logged.platformKey }),
    [`/log/standard/inclusion?match=${id}`]: JSON.stringify(match.inclusion), '/log/standard/head': match.head,
    [`/ladder/standard/events?from=${logged.ladder.revision}&limit=1`]: logged.ladder.events, [`/ladder/standard/proof/${logged.ladder.revision}`]: logged.ladder.proof,
    '/ladder/standard/checkpoint': heads[4],
    ...Object.fromEntries(Object.entries(logged.consistency).map(([sizes, hashes]) => [`/log/standard/consistency?${sizes}`, JSON.stringify({ hashes })])),
  };
  return async (path, as) => change(path, as === 'bytes' ? readTile(path) : answers[path]);
}

test('a match is in the signed log', async () => {
  const found = await verifyAt(logged.id, arena());
  assert.equal(found.difference, null, String(found.difference));
  assert.ok(found.checks.some(([name, count]) => name === 'signed log' && count === 1));
  assert.ok(found.checks.some(([name]) => name === 'id'));
  let early = 3; // the log grows between proof and head, or lags behind
  const later = await verifyAt(logged.id, arena((path, answer) => {
    if (!path.includes('inclusion') || early-- <= 0) return answer;
    return early === 1 ? null : answer.replace(/"size":\d+/, '"size":99');
  }), () => {});
  assert.equal(later.difference, null, String(later.difference));
});

// Storage is the part of localStorage that the checker uses.
class Storage {
  getItem(name) { return this[name] ?? null; }

  setItem(name, value) { this[name] = value; }
}

// visit checks the match as a page does, and stores the heads.
async function visit(storage, change) {
  const found = await verifyAt(logged.id, arena(change), () => {}, load(storage));
  store(storage, found.newest);
  return found;
}

const headOf = (log, note, platformKey = logged.platformKey, mode = 'standard') => ({ log, mode, platformKey, note });

// having returns a browser that has seen a head.
function having(log, note) {
  const storage = new Storage();
  store(storage, [headOf(log, note)]);
  return storage;
}

const kept = (storage, log) => Object.entries(load(storage)).filter(([name]) => name.includes(` ${log} `)).map(([, note]) => note);
const counted = ({ checks }, log) => checks.some(([name, count]) => name === `earlier ${log}` && count === 1);
const whyNot = ({ unchecked }, log) => unchecked.find(([name]) => name === `earlier ${log}`)?.[1];

test('each head must continue the one that the browser saw before', async () => {
  const storage = new Storage();
  const first = await visit(storage);
  for (const log of ['log', 'ladder']) assert.match(whyNot(first, log), /has no earlier head to compare/);
  const all = () => [...kept(storage, 'log'), ...kept(storage, 'ladder')];
  assert.deepEqual(all(), [logged.head, heads[4]]);
  const again = await visit(storage);
  assert.ok(counted(again, 'log') && counted(again, 'ladder'), 'the same heads');
  store(storage, [headOf('log', logged.earlier), headOf('ladder', heads[3])]);
  assert.deepEqual(all(), [logged.head, heads[4]], 'another tab stores older heads');

  for (const [log, ...notes] of [['log', logged.empty, logged.earlier], ['ladder', heads[0], heads[1], heads[3]]]) {
    for (const note of notes) {
      const grown = having(log, note);
      assert.ok(counted(await visit(grown), log), 'a head that grew');
      assert.deepEqual(kept(grown, log), [{ log: logged.head, ladder: heads[4] }[log]]);
    }
  }
});

test('a head that does not continue the earlier one is a fork', async () => {
  for (const [name, log, note, change] of [
    ['another root of the same size', 'log', logged.forked3, undefined],
    ['another root of a smaller size', 'log', logged.forked2, undefined],
    ['a wrong proof', 'log', logged.earlier, (path, answer) => (path.includes('consistency') ? '{"hashes":[]}' : answer)],
    ['no proof', 'log', logged.earlier, (path, answer) => (path.includes('consistency') ? null : answer)],
    ['a head that stays behind', 'log', logged.later, undefined],
    ['a ladder with another root', 'ladder', logged.ladder.forked, undefined],
    ['a ladder without tiles', 'ladder', heads[3], (path, answer) => (path.includes('/tile/') ? null : answer)],
    ['a ladder with other tiles', 'ladder', heads[3], (path, answer) => (path.includes('/tile/') ? answer.map((b) => b ^ 1) : answer)],
    ['a ladder that stays behind', 'ladder', heads[255], undefined],
  ]) {
    const storage = having(log, note);
    const found = await visit(storage, change);
    assert.equal(found.difference, null, name);
    assert.ok(!counted(found, log) && found.fork?.length === 4, name);
    assert.match(found.fork[0], /This browser saw a signed head of the standard (ladder|log of results) with \d+ entries/);
    assert.deepEqual(found.fork.slice(2), [note, { log: logged.head, ladder: heads[4] }[log]], name);
    assert.deepEqual(kept(storage, log), [note], `${name}: the browser keeps the head that it saw`);
  }
});

test('a head that lags behind for a moment is no fork', async () => {
  let asked = 0;
  const late = (note) => (path, answer) => (path.endsWith('head') && ++asked > 2 ? note : answer);
  const storage = having('log', logged.later);
  const found = await visit(storage, late(logged.later));
  assert.ok(counted(found, 'log') && found.fork === null);
  assert.deepEqual(kept(storage, 'log'), [logged.later]);
  asked = 0;
  const forged = await visit(having('log', logged.later), late(logged.later.replace(/.{8}\n$/, 'AAAAAA==\n')));
  assert.ok(forged.fork, 'an invalid signature');

  const ladder = having('ladder', heads[255]);
  const after = await visit(ladder, (path, answer) => (path.endsWith('checkpoint') ? heads[256] : answer));
  assert.ok(counted(after, 'ladder') && after.fork === null);
  assert.deepEqual(kept(ladder, 'ladder'), [heads[256]]);
});

test('a browser that stores nothing, a damaged head and another key are reported', async () => {
  assert.match(whyNot(await verifyAt(logged.id, arena(), () => {}, null), 'log'), /does not let this page store data/);
  const denied = new Proxy({}, { ownKeys() { throw new Error('denied'); } });
  assert.equal(load(denied), null);
  const damaged = having('log', logged.earlier);
  for (const name of Object.keys(damaged)) damaged[name] = 'no head';
  assert.match(whyNot(await visit(damaged), 'log'), /has no earlier head to compare/);
  assert.deepEqual(kept(damaged, 'log'), [logged.head]);
  const other = new Storage();
  store(other, [headOf('log', logged.earlier, 'another key'), headOf('log', logged.earlier, 'another key', 'parley')]);
  const found = await visit(other);
  assert.match(whyNot(found, 'log'), /a different platform key/);
  assert.match(whyNot(found, 'ladder'), /has no earlier head to compare/);
});

test('a seating is in the signed tree of the ladder and agrees with the record', async () => {
  assert.ok((await visit(new Storage())).checks.some(([name, count]) => name === 'seating' && count === 1));
  const isEvents = (path) => path.includes('/events');
  const isProof = (path) => path.includes('/proof/');
  for (const [name, change] of Object.entries({
    'another table': (path, answer) => ((isEvents(path) && logged.ladder.other.events) || (isProof(path) && logged.ladder.other.proof) || answer),
    'other data': (path, answer) => (isEvents(path) ? answer.replace('tick', 'tock') : answer),
    'another type': (path, answer) => (isEvents(path) ? answer.replace('TablesSeated', 'MatchVoided') : answer),
    'another revision': (path, answer) => (isEvents(path) ? answer.replace('"revision":0', '"revision":1') : answer),
    'no event': (path, answer) => (isEvents(path) ? '{"events":[]}' : answer),
    'a hash': (path, answer) => (isProof(path) ? answer.replace(/\n.{8}(.{36})\n/, '\nAAAAAAAA$1\n') : answer),
    'a short proof': (path, answer) => (isProof(path) ? answer.replace(/\n.{44}\n/, '\n') : answer),
    'no proof': (path, answer) => (isProof(path) ? 'index 0' : answer),
    'a head of another log': (path, answer) => (isProof(path) ? answer.replace(/\n\n[^]*/, `\n\n${logged.head}`) : answer),
    'an invalid signature': (path, answer) => (isProof(path) ? answer.replace(/.{8}\n$/, 'AAAAAA==\n') : answer),
  })) {
    const found = await visit(new Storage(), change);
    assert.ok(found.difference instanceof Differs, `${name}: ${found.difference}`);
    assert.equal(found.difference.seq, 0, name);
    assert.equal(found.newest.length, 0, name);
  }
  const without = await visit(new Storage(), (path, answer) => (path.startsWith('/ladder') ? null : answer));
  assert.equal(without.difference, null);
  assert.ok(without.unchecked.some(([name, why]) => name === 'seating' && why === 'the arena does not publish it'));
});

const hidden = {
  'the tree': ['/ladder/', /has no signed head of the standard ladder; expected /],
  'the checkpoint': ['/checkpoint', /has no signed head of the standard ladder; expected /],
  'the proof': ['/proof/', /has no proof of revision 0 of the standard ladder; expected /],
  'the events': ['/events', /has no event at revision 0 of the standard ladder; expected /],
};
const without = (part) => (path, answer) => (path.includes(part) ? null : answer);

test('an arena cannot hide a ladder that this browser remembers', async () => {
  for (const [name, [part, want]] of Object.entries(hidden)) {
    const storage = having('ladder', heads[3]);
    const found = await visit(storage, without(part));
    assert.ok(found.difference instanceof Differs, `${name}: ${found.difference}`);
    assert.match(found.difference.message, want, name);
    assert.match(found.difference.message, /that this browser saw, with 3 entries and the root /, name);
    assert.deepEqual([kept(storage, 'ladder'), found.newest], [[heads[3]], []], name);
  }
  for (const [key, mode] of [['another key', 'standard'], [logged.platformKey, 'parley']]) {
    const other = new Storage();
    store(other, [headOf('ladder', mode === 'parley' ? heads[3].replace('standard', mode) : heads[3], key, mode)]);
    assert.equal(kept(other, 'ladder').length, 1);
    assert.equal((await visit(other, without('/ladder/'))).difference, null, `a head of ${key} and ${mode}`);
  }
});

test('an arena cannot hide a part of the ladder and publish the rest', async () => {
  for (const [name, [part, want]] of Object.entries(hidden).slice(1)) {
    const { difference } = await visit(new Storage(), without(part));
    assert.ok(difference instanceof Differs, `${name}: ${difference}`);
    assert.match(difference.message, want, name);
  }
  let asked = 0; // a process of the arena lags behind
  const late = await visit(having('ladder', heads[3]), (path, answer) => (path.includes('/proof/') && asked++ < 3 ? null : answer));
  assert.equal(late.difference, null);
  assert.ok(counted(late, 'ladder'));
});

test('an arena cannot hide the seating of a match with a beacon', async () => {
  for (const [name, [part, want]] of Object.entries(hidden)) {
    const { difference } = await verifyAt(logged.beacon.id, arena(without(part), logged.beacon), () => {}, {});
    assert.ok(difference instanceof Differs, `${name}: ${difference}`);
    assert.match(difference.message, want, name);
    assert.match(difference.message, /beacon|in the signed tree/, name);
  }
});

test('the checkpoint must continue the remembered head, and the head of the proof', async () => {
  const behind = { 'a fork': logged.ladder.forked, 'a smaller tree': heads[3], 'an invalid signature': heads[7].replace(/.{8}\n$/, 'AAAAAA==\n') };
  for (const [name, note] of Object.entries(behind)) {
    const found = await visit(having('ladder', heads[1]), (path, answer) => (path.endsWith('/checkpoint') ? note : answer));
    assert.equal(found.fork?.[3], note, name);
  }
  const storage = having('ladder', heads[1]);
  assert.ok(counted(await visit(storage, (path, answer) => (path.endsWith('/checkpoint') ? heads[7] : answer)), 'ladder'));
  assert.deepEqual(kept(storage, 'ladder'), [heads[7]]);
});

test('proofs from tiles show that a ladder has only grown', async () => {
  const sizes = Object.keys(heads).map(Number).filter((n) => n > 0);
  const get = arena();
  let pairs = 0;
  for (const to of sizes) {
    for (const from of sizes.filter((n) => n <= to)) {
      const [earlier, later] = [readHead(heads[from], 'standard', 'ladder'), readHead(heads[to], 'standard', 'ladder')];
      const hashes = await proofFromTiles(from, to, 'standard', get);
      assert.equal(await continues(earlier, later, hashes), true, `${from} to ${to}`);
      if (from < to) assert.equal(await continues({ ...earlier, root: later.root }, later, hashes), false, `${from} to ${to}`);
      pairs += 1;
    }
  }
  assert.ok(pairs > 100);
  for (const [n, path] of [[0, '000'], [67, '067'], [1000, 'x001/000'], [1234067, 'x001/x234/067']]) assert.equal(tileIndex(n), path);
});

test('a match that differs from the signed log is found', async () => {
  for (const [name, change] of Object.entries({
    'a name': (path, answer) => (path.startsWith('/matches') ? answer.replace('"botName":"Bot', '"botName":"Bat') : answer),
    'a rating': (path, answer) => (path.startsWith('/matches') ? answer.replace(/"ratingDelta":-?\d/, '"ratingDelta":17') : answer),
    'a place': (path, answer) => (path.includes('inclusion') ? answer.replace('"index":1', '"index":0') : answer),
    'no place': (path, answer) => (path.includes('inclusion') ? answer.replace('"index":1', '"index":77') : answer),
    'a hash': (path, answer) => (path.includes('inclusion') ? answer.replace('"hashes":["', '"hashes":["AAAA').replace(/(AAAA.{40}).{4}/, '$1') : answer),
    'a root': (path, answer) => (path.includes('head') ? answer.replace(/\n(.{43}=)\n/, `\n${'A'.repeat(43)}=\n`) : answer),
    'a signature': (path, answer) => (path.includes('head') ? answer.replace(/.{8}\n$/, 'AAAAAA==\n') : answer),
    'no note': (path, answer) => (path.includes('head') ? 'arena' : answer),
  })) {
    const found = await verifyAt(logged.id, arena(change)).catch((error) => ({ difference: error }));
    assert.ok(found.difference instanceof Differs, `${name}: ${found.difference}`);
    assert.equal(found.difference.seq, 0, name);
  }
  await assert.rejects(() => verifyAt(logged.id, arena((path, answer) => (path.includes('inclusion') ? null : answer)), () => {}), /does not contain this match/);
});

test('a browser without Ed25519 reports the unchecked signature', async (t) => {
  t.mock.method(globalThis.crypto.subtle, 'importKey', () => { throw Object.assign(new Error('unknown'), { name: 'NotSupportedError' }); });
  const found = await verifyAt(logged.id, arena());
  assert.equal(found.difference, null);
  assert.ok(found.unchecked.some(([name]) => name === 'signature of the log'));
});

test('the JSON parser is strict', () => {
  for (const bad of ['', '{', '{"a":1,"a":1}', '[1,]', '{"a":1,}', '01', '1.', '.5', '+1', 'nul', '"\\ud800"', '"\n"', '[1] 2', '"\\x"', 'NaN', '\u00a01', `${'['.repeat(65)}${']'.repeat(65)}`]) {
    assert.throws(() => parse(bad, 64), Malformed, bad);
  }
  for (const good of ['{"__proto__":1,"a":[true,false,null,"\\ud83d\\ude00"]}', ' [ ] ', '-0', '"\u2028"', `${'['.repeat(64)}${']'.repeat(64)}`]) parse(good, 64);
  assert.notEqual(typeof parse('1.0'), 'number');
  assert.notEqual(typeof parse('1e2'), 'number');
  assert.equal(canonical(parse('{"b":-2.50,"a":[1e0,-0,"\\u20ac\\u000f\\n/"],"\\u00e9":{}}')), '{"a":[1,0,"€\\u000f\\n/"],"b":-2.5,"é":{}}');
});

test('invalid records are malformed', async () => {
  for (const change of [(r) => delete r.id, (r) => { r.status = 'running'; }, (r) => { r.seed = null; }, (r) => { r.players.pop(); r.players.pop(); }, (r) => { r.proof = null; }, (r) => { r.replay = [1]; }]) {
    const record = structuredClone(vectors.matches[2]);
    change(record);
    await assert.rejects(() => verify(JSON.stringify(record)), Malformed);
  }
  assert.throws(() => new Match([]), Malformed);
  assert.deepEqual(await some(1, () => bytesOf('é').length), [2]);
});

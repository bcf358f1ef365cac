import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Draws, bytesOf, deck, hex, joint, layout, matchID, serverSeed, sha256, shuffled, unhex } from '../../static/verify-chance.mjs';
import { Malformed, canonical, parse } from '../../static/verify-json.mjs';
import { base64, continues, leafHash, leafOf, readHead, rootOf, signed, unbase64 } from '../../static/verify-log.mjs';
import { Match } from '../../static/verify-match.mjs';
import { load, store } from '../../static/verify-memory.mjs';
import { Differs, verify, verifyAt } from '../../static/verify.mjs';

const vectors = JSON.parse(readFileSync(new URL('../../../../docs/audit/vectors.json', import.meta.url)));
const fresh = readFileSync(process.env.FRESH, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const logged = JSON.parse(readFileSync(process.env.LOGGED));
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

// arena responds as an arena does, from a log that the Go test wrote. The function change
// can forge its responses.
function arena(change = (path, answer) => answer) {
  const { id } = logged;
  const answers = {
    [`/matches/${id}`]: logged.record, '/log/keys': '{"keys":[]}', '/.well-known/arena.json': JSON.stringify({ publicKey: logged.platformKey }),
    [`/log/standard/inclusion?match=${id}`]: JSON.stringify(logged.inclusion), '/log/standard/head': logged.head,
    ...Object.fromEntries(Object.entries(logged.consistency).map(([sizes, hashes]) => [`/log/standard/consistency?${sizes}`, JSON.stringify({ hashes })])),
  };
  return (path) => Promise.resolve(change(path, answers[path]));
}

test('a match is in the signed log', async () => {
  const found = await verifyAt(logged.id, arena());
  assert.equal(found.difference, null, String(found.difference));
  assert.deepEqual(found.checks.at(-1), ['signed log', 1]);
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

// visit checks the match as a page does, and stores the head.
async function visit(storage, change) {
  const found = await verifyAt(logged.id, arena(change), () => {}, load(storage));
  if (found.newest) store(storage, found.newest);
  return found;
}

// having returns a browser that has seen a head.
function having(note) {
  const storage = new Storage();
  store(storage, { platformKey: logged.platformKey, mode: 'standard', note });
  return storage;
}

const counted = ({ checks }) => checks.some(([name, count]) => name === 'earlier head' && count === 1);
const whyNot = ({ unchecked }) => unchecked.find(([name]) => name === 'earlier head')?.[1];

test('each head must continue the one that the browser saw before', async () => {
  const storage = new Storage();
  const first = await visit(storage);
  assert.match(whyNot(first), /has not seen a head/);
  assert.deepEqual(Object.values(load(storage)), [logged.head]);
  assert.ok(counted(await visit(storage)), 'the same head');

  const grown = having(logged.earlier);
  assert.ok(counted(await visit(grown)), 'a head that grew');
  assert.deepEqual(Object.values(load(grown)), [logged.head]);

  store(grown, { platformKey: logged.platformKey, mode: 'standard', note: logged.earlier });
  assert.deepEqual(Object.values(load(grown)), [logged.head], 'another tab stores an older head');

  const empty = having(logged.empty);
  assert.ok(counted(await visit(empty)), 'after an empty log');
});

test('a head that does not continue the earlier one is a fork', async () => {
  for (const [name, note, change] of [
    ['another root of the same size', logged.forked3, undefined],
    ['another root of a smaller size', logged.forked2, undefined],
    ['a wrong proof', logged.earlier, (path, answer) => (path.includes('consistency') ? '{"hashes":[]}' : answer)],
    ['no proof', logged.earlier, (path, answer) => (path.includes('consistency') ? null : answer)],
    ['a head that stays behind', logged.later, undefined],
  ]) {
    const storage = having(note);
    const found = await visit(storage, change);
    assert.equal(found.difference, null, name);
    assert.ok(!counted(found) && found.fork?.length === 4, name);
    assert.match(found.fork[0], /This browser saw a signed head of [234] results/);
    assert.deepEqual(found.fork.slice(2), [note, logged.head], name);
    assert.deepEqual(Object.values(load(storage)), [note], `${name}: the browser keeps the head that it saw`);
  }
});

test('a head that lags behind for a moment is no fork', async () => {
  let asked = 0;
  const storage = having(logged.later);
  const found = await visit(storage, (path, answer) => (path.endsWith('head') && ++asked > 2 ? logged.later : answer));
  assert.ok(counted(found) && found.fork === null);
  assert.deepEqual(Object.values(load(storage)), [logged.later]);
  asked = 0;
  const forged = await visit(having(logged.later), (path, answer) => (path.endsWith('head') && ++asked > 2 ? logged.later.replace(/.{8}\n$/, 'AAAAAA==\n') : answer));
  assert.ok(forged.fork, 'an invalid signature');
});

test('a browser that stores nothing, a damaged head and another key are reported', async () => {
  assert.match(whyNot(await verifyAt(logged.id, arena(), () => {}, null)), /stores nothing/);
  const denied = new Proxy({}, { ownKeys() { throw new Error('denied'); } });
  assert.equal(load(denied), null);
  const damaged = having(logged.earlier);
  for (const name of Object.keys(damaged)) damaged[name] = 'no head';
  assert.match(whyNot(await visit(damaged)), /has not seen a head/);
  assert.deepEqual(Object.values(load(damaged)), [logged.head]);
  const other = new Storage();
  store(other, { platformKey: 'another key', mode: 'standard', note: logged.earlier });
  store(other, { platformKey: 'another key', mode: 'parley', note: logged.earlier });
  assert.match(whyNot(await visit(other)), /another platform key/);
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

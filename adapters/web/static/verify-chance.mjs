// The randomness of a match (docs/audit.md): commitment, seed, draws and
// shuffles.

const encoder = new TextEncoder();

export const bytesOf = (text) => encoder.encode(text);
export const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('');
export const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export function joined(...parts) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) { all.set(p, at); at += p.length; }
  return all;
}

const digest = async (kind, bytes) => new Uint8Array(await globalThis.crypto.subtle.digest(kind, bytes));
export const sha256 = (bytes) => digest('SHA-256', bytes);

// serverSeed derives the server seed of a match from a published seed key.
export async function serverSeed(key, id) {
  const k = await globalThis.crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await globalThis.crypto.subtle.sign('HMAC', k, bytesOf(id)));
}

// joint combines a server seed and the bots' nonces into the match's seed.
export const joint = (server, nonces) => sha256(joined(server, ...nonces.map((n) => joined([0], bytesOf(n)))));

// beaconSeed combines a server seed and the randomness of a beacon's round into the
// match's seed. The bots' nonces are not part of it.
export const beaconSeed = (server, randomness) => sha256(joined(bytesOf('hexarena/seed/2'), [0], server, randomness));

// matchID returns the UUIDv5 for the event and the table that seated a match.
export async function matchID(platformKey, mode, revision, index) {
  const id = (await digest('SHA-1', joined(unhex('6ba7b8119dad11d180b400c04fd430c8'), bytesOf(`hexarena:${platformKey}:${mode}:${revision}:${index}`)))).slice(0, 16);
  id[6] = (id[6] & 0x0f) | 0x50;
  id[8] = (id[8] & 0x3f) | 0x80;
  return hex(id).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

// Draws is the sequence of draws for one purpose.
export class Draws {
  constructor(seed, purpose) {
    this.prefix = joined(seed, [0], bytesOf(purpose), [0]);
    this.block = 0;
    this.queue = [];
  }

  async draw() {
    if (this.queue.length === 0) {
      const number = new DataView(new ArrayBuffer(8));
      number.setBigUint64(0, BigInt(this.block++));
      const block = new DataView((await sha256(joined(this.prefix, new Uint8Array(number.buffer)))).buffer);
      for (let i = 0; i < 32; i += 4) this.queue.push(block.getUint32(i));
    }
    return this.queue.shift();
  }

  async uniform(n) {
    const limit = 2 ** 32 - (2 ** 32 % n);
    for (;;) {
      const drawn = await this.draw();
      if (drawn < limit) return drawn % n;
    }
  }
}

export async function shuffled(seed, purpose, list) {
  const items = [...list];
  const draws = new Draws(seed, purpose);
  for (let i = items.length - 1; i > 0; i--) {
    const j = await draws.uniform(i + 1);
    [items[i], items[j]] = [items[j], items[i]];
  }
  return items;
}

const times = (n, item) => new Array(n).fill(item);
const hexes = [...times(3, 'brick'), ...times(4, 'lumber'), ...times(4, 'wool'), ...times(4, 'grain'), ...times(3, 'ore'), 'desert'];
const tokens = [2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 9, 9, 10, 10, 11, 11, 12];
const cards = [...times(14, 'knight'), ...times(5, 'victory_point'), ...times(2, 'roadworks'), ...times(2, 'windfall'), ...times(2, 'embargo')];

export const deck = (seed) => shuffled(seed, 'deck', cards);

// layout returns resources and tokens by hex; the desert's token is 0.
export async function layout(seed) {
  const resources = await shuffled(seed, 'board/resources', hexes);
  const left = await shuffled(seed, 'board/tokens', tokens);
  return { resources, tokens: resources.map((r) => (r === 'desert' ? 0 : left.shift())) };
}

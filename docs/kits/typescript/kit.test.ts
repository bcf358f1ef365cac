// Tests of the kit and of the sample bot. They need no arena: npm test
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { WebSocket } from "ws";

import { answer } from "./sample_bot.ts";
import {
  type Action, type Answer, EDGE_VERTICES, Game, HEX_VERTICES, Memory, type Options, type Request, addressOf, botServer, verified,
} from "./src/index.ts";

const file = [".", ".."].map((folder) => new URL(`${folder}/legal_moves.jsonl.gz`, import.meta.url)).find((place) => existsSync(place));
const skip = file ? false : "legal_moves.jsonl.gz is neither in this folder nor in the one above";

type Position = {
  request: Request;
  memory: { devPlayed: boolean; offers: number; talked: boolean };
  legal: Action[];
  samples: { action: Action; reason: string | null }[];
};

/** Returns each position of the file, with its game. */
function positions(): { position: Position; game: Game }[] {
  return gunzipSync(readFileSync(file!)).toString().trim().split("\n").map((line) => {
    const position = JSON.parse(line) as Position;
    const memory = Object.assign(new Memory(), { turn: position.request.view.turn }, position.memory);
    return { position, game: new Game(position.request, memory) };
  });
}

/** Returns a value as text that does not depend on the order of the fields. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, v) =>
    v && typeof v === "object" && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v);
}

test("legal moves are the arena's", { skip }, () => {
  const kinds = new Set<string>(), all = positions();
  for (const { position, game } of all) {
    assert.deepEqual(game.legal().map(sorted).sort(), position.legal.map(sorted).sort(), sorted(position));
    kinds.add(game.kind);
  }
  assert.deepEqual([all.length, kinds.size], [500, 5]);
});

test("samples are judged as in the arena", { skip }, () => {
  for (const { position, game } of positions()) {
    for (const { action, reason } of position.samples) {
      assert.equal(game.allows(action), reason === null, sorted({ action, reason, position }));
    }
  }
});

test("the sample bot answers every position legally", { skip }, () => {
  for (const { position, game } of positions()) {
    const action = answer(game);
    assert.ok(game.allows(action), sorted({ action, position }));
  }
});

test("numbers are those of the rules", () => {
  assert.deepEqual(HEX_VERTICES[0], [0, 4, 8, 12, 7, 3]);
  assert.deepEqual(HEX_VERTICES[18], [41, 46, 50, 53, 49, 45]);
  assert.deepEqual(EDGE_VERTICES.slice(0, 2), [[0, 3], [0, 4]]);
  assert.equal(EDGE_VERTICES.length, 72);
});

// From docs/protocol.md ("Verify the upgrade").
const key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const upgrade: Record<string, string> = {
  "x-arena-timestamp": "1795275943070",
  "x-arena-match": "233cd1aa-cd7f-5811-aa1f-86d1fe8fba6a",
  "x-arena-recipient": "9cc4ef48-8b70-4c21-86d2-aee152ac3782@127.0.0.1:9002",
  "x-arena-commitment": "cd9dd2e9c269c1afc565ed24bbc32ccd896b080711bc038ee58353d2b55afeb2",
  "x-arena-beacon-round": "23456789",
  "x-arena-log-index": "31",
  "x-arena-signature-v2": "0umHjM7EDuBf6+4JaVGZEtxcaUyUw2G3iX4mdhz86vP8DV2mXhwwYh9IlR9UDVwJXjCTIaNCuwpO+tGdHn14DQ==",
};
const deployCheck = {
  "x-arena-timestamp": "1795276001204",
  "x-arena-match": "deploy-check",
  "x-arena-recipient": "5b6f2a44-2f0e-4c7a-9d0b-0d7a4f1f6c11@[2001:db8::7]:8443",
  "x-arena-signature-v2": "Xm7N1k3hChJpNn6HHOLzNkh+BZmYHc5zou1e1qUoYyo2YW/XZszw70A76C43zZH76R7Rm1UYjYwFwRcqO/K6AQ==",
};

test("signatures are verified", () => {
  const now = 1795275943000;
  assert.ok(verified(upgrade, key, "127.0.0.1:9002", now));
  assert.ok(verified(deployCheck, key, deployCheck["x-arena-recipient"], 1795276001000));
  for (const [name, value] of Object.entries(upgrade)) {
    for (const forged of ["", value.slice(0, -3), `1${value}`]) {
      assert.ok(!verified({ ...upgrade, [name]: forged }, key, "127.0.0.1:9002", now), name);
    }
  }
  assert.ok(!verified(upgrade, key, "127.0.0.1:9003", now), "another recipient");
  assert.ok(!verified(upgrade, key, "127.0.0.1:9002", now + 31_000), "too old");
  assert.ok(!verified(upgrade, `x${key.slice(1)}`, "127.0.0.1:9002", now), "another key");
  assert.ok(!verified(upgrade, "x", "127.0.0.1:9002", now), "no key");
});

/** Starts a server in a new folder, and calls a function with its address and the folder. */
async function serving(bot: Answer, options: Options, use: (address: string, folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "kit-"));
  const server = botServer(bot, { folder, ...options, notes: join(folder, "notes.jsonl") });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await use(addressOf(server), folder);
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  }
}

function request(id: number, turn = 1): string {
  return JSON.stringify({ id, matchId: "m", kind: "turn", view: { seat: 0, turn, towns: [], roads: [], hand: {} } });
}

/** Sends requests over one socket, and returns the headers of its upgrade. */
async function dial(address: string, requests: string[]): Promise<IncomingMessage["headers"]> {
  const socket = new WebSocket(`ws://${address}/`, { headers: { "x-arena-match": "m" } });
  const upgraded = once(socket, "upgrade");
  await once(socket, "open");
  const [response] = (await upgraded) as [IncomingMessage];
  for (const text of requests) {
    socket.send(text);
    const [frame] = await once(socket, "message");
    assert.equal(JSON.parse(String(frame)).id, JSON.parse(text).id);
  }
  socket.close();
  await once(socket, "close");
  return response.headers;
}

test("a match", async () => {
  const memories: unknown[] = [];
  const bot: Answer = (game) => {
    memories.push([game.memory.offers, game.memory.talked]);
    game.note = { memories: memories.length };
    return { type: "offer_trade", give: { ore: 1 }, get: { wool: 1 }, talk: "Anyone?" };
  };
  await serving(bot, { version: "test 1" }, async (address, folder) => {
    const headers = await dial(address, [request(3)]);
    assert.equal(headers["x-arena-version"], "test 1");
    assert.match(String(headers["x-arena-nonce"]), /^[0-9a-f]{64}$/);
    const again = await dial(address, [request(3), request(5), request(9, 5)]); // the arena dials again, and asks again
    assert.equal(again["x-arena-nonce"], headers["x-arena-nonce"]);
    assert.deepEqual(memories, [[0, false], [1, true], [0, false]]);
    const notes = readFileSync(join(folder, "notes.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(notes, [[3, 1], [5, 2], [9, 3]].map(([decision, n]) => ({ match: "m", decision, note: { memories: n } })));
  });
});

test("a strategy that fails closes its socket only", async () => {
  const bot: Answer = (game) => {
    if (game.request.id === 3) throw new Error("the strategy fails, as this test wants");
    return { type: "end_turn" };
  };
  await serving(bot, {}, async (address) => {
    const socket = new WebSocket(`ws://${address}/`, { headers: { "x-arena-match": "m" } });
    await once(socket, "open");
    socket.send(request(3));
    const [code] = await once(socket, "close");
    assert.equal(code, 1011);
    await dial(address, [request(4)]);
  });
});

test("the ping and other callers", async () => {
  await serving(() => ({ type: "end_turn" }), { key }, async (address) => {
    const status = async (path: string, headers = {}) => {
      const [response] = (await once(get(`http://${address}${path}`, { headers }), "response")) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    assert.equal(await status("/bot/ping?v=2"), 200);
    assert.equal(await status("/"), 426);
    const forged = { ...upgrade, Upgrade: "websocket", Connection: "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==" };
    assert.equal(await status("/", forged), 401, "the signature is too old");
  });
});

/// <reference path="./ws.d.ts" />
// The bot's server: the ping, the upgrade, nonces and notes.

import { createHmac, randomBytes } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type WebSocket, WebSocketServer } from "ws";

import { Game, Memory } from "./game.ts";
import type { Action, Request } from "./protocol.ts";
import { verified } from "./signature.ts";

/** A strategy: it returns the action for one decision. */
export type Answer = (game: Game) => Action;

export type Options = {
  version?: string; // of the program
  key?: string; // the arena's publicKey; without it, the server accepts every connection
  recipient?: string; // the host of the bot's URL, or BOT-ID@HOST; the default is the server's address
  notes?: string; // the file to which the notes are appended
  folder?: string; // contains the secret of the nonces
};

const remembered = 100; // matches

/** Returns a server that answers the arena. Call its method listen to start it. */
export function botServer(answer: Answer, options: Options = {}): Server {
  const memories = new Map<string, Memory>(); // by match; they survive a reconnect
  const nonce = nonces(options.folder ?? ".");

  function respond(request: Request): { id: number; action: Action } {
    const memory = memories.get(request.matchId) ?? new Memory();
    memories.delete(request.matchId);
    memories.set(request.matchId, memory); // the latest match is last
    if (memories.size > remembered) memories.delete([...memories.keys()][0]);
    if (memory.repeated(request)) return { id: request.id, action: memory.sent[memory.sent.length - 1] };
    memory.begin(request.view.turn);
    const game = new Game(request, memory);
    const action = answer(game);
    memory.record(request, action);
    if (options.notes && game.note !== undefined) {
      appendFileSync(options.notes, `${JSON.stringify({ match: request.matchId, decision: request.id, note: game.note })}\n`);
    }
    return { id: request.id, action };
  }

  const server = createServer((request, response) => {
    const ping = request.url?.split("?")[0].endsWith("/ping");
    response.writeHead(ping ? 200 : 426, ping ? {} : { Upgrade: "websocket", Connection: "Upgrade" }).end(ping ? "pong" : "");
  });
  const sockets = new WebSocketServer({
    server,
    perMessageDeflate: false,
    verifyClient: ({ req }) => !options.key || verified(req.headers, options.key, options.recipient || addressOf(server)),
  });
  sockets.on("headers", (headers: string[], request: IncomingMessage) => {
    headers.push(`x-arena-nonce: ${nonce(String(request.headers["x-arena-match"] ?? ""))}`);
    headers.push(`x-arena-version: ${options.version ?? "1.0"}`);
  });
  sockets.on("connection", (socket: WebSocket) => {
    socket.on("error", () => {}); // the arena dials again
    socket.on("message", (frame) => {
      try {
        socket.send(JSON.stringify(respond(JSON.parse(String(frame)))));
      } catch (failure) { // the bot continues to play its other matches
        console.error(failure);
        socket.close(1011);
      }
    });
  });
  return server;
}

/** Returns the host and the port of a server that listens. */
export function addressOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * Runs a bot as a program with the arguments [PORT] [--notes FILE]. The variables
 * ARENA_PUBLIC_KEY and ARENA_RECIPIENT set the key and the recipient.
 */
export function run(answer: Answer, options: { version?: string } = {}): void {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { notes: { type: "string" } } });
  const { ARENA_PUBLIC_KEY: key, ARENA_RECIPIENT: recipient } = process.env;
  const server = botServer(answer, { ...options, key, recipient, notes: values.notes });
  server.on("error", (failure) => {
    console.error(failure.message);
    process.exit(1);
  });
  server.listen(Number(positionals[0] ?? 9002), "127.0.0.1", () => console.log(`http://${addressOf(server)}`));
}

/**
 * Returns a function that computes the bot's share of a match's seed: an HMAC that only
 * its owner can compute. The first run creates the secret and stores it in a file. Keep
 * that file.
 */
function nonces(folder: string): (match: string) => string {
  const file = join(folder, "nonce-secret");
  const stored = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  const secret = stored || randomBytes(32).toString("hex");
  if (!stored) writeFileSync(file, secret, { mode: 0o600 });
  return (match) => createHmac("sha256", secret).update(match).digest("hex");
}

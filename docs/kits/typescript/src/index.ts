/**
 * Everything that a Hex Arena bot needs besides its strategy.
 *
 * A bot is a function that gets a Game and returns an action:
 *
 *     import { run } from "hexarena-kit";
 *
 *     run((game) => game.legal()[0], { version: "1.0" });
 *
 * The package needs Node 20 or later, and ws from npm.
 */
export * from "./board.ts";
export * from "./game.ts";
export * from "./protocol.ts";
export * from "./server.ts";
export * from "./signature.ts";

// Registers a bot through openapi-fetch and the types that openapi-typescript
// generated. The variables ARENA, KEY_ID, KEY (PKCS #8 in base64) and BOT name the
// arena, the key that signs and the bot's URL. Prints what the arena returned.
import createClient from "openapi-fetch";
import type { components, paths } from "./arena";

declare const process: { env: Record<string, string> };

const { ARENA, KEY_ID, KEY, BOT } = process.env;
const bytes = Uint8Array.from(atob(KEY), (c) => c.charCodeAt(0));
const key = await crypto.subtle.importKey("pkcs8", bytes, "Ed25519", false, ["sign"]);

const client = createClient<paths>({ baseUrl: ARENA });
client.use({
  async onRequest({ request }) {
    const { pathname, search } = new URL(request.url);
    const timestamp = String(Date.now());
    const message = `${timestamp}.${request.method}.${pathname}${search}.${await request.clone().text()}`;
    const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", key, new TextEncoder().encode(message)));
    request.headers.set("x-arena-key", KEY_ID);
    request.headers.set("x-arena-timestamp", timestamp);
    request.headers.set("x-arena-signature", btoa(String.fromCharCode(...signature)));
    return request;
  },
});

// A checked response has either data or an error.
function checked<T>(response: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (response.data === undefined) throw new Error(JSON.stringify(response.error));
  return response.data;
}

// These functions compile only if the kind of a decision determines the type of its
// action, and if only points of completed matches have a rating.
export function hexOf(data: components["schemas"]["ActionData"]): number | undefined {
  return data.kind === "bandit" ? data.action.hex : undefined;
}
export function ratingOf(point: components["schemas"]["BotHistory"]["points"][number]): number {
  return "rating" in point ? point.rating : 0;
}

const bot = checked(await client.POST("/bots", { body: { name: "typescript", mode: "parley", url: BOT } }));
const { bots } = checked(await client.GET("/bots", { params: { query: { mode: "parley" } } }));
console.log(JSON.stringify({ registered: bot.id, listed: bots.map((b) => b.id) }));

// The arena's signature of an upgrade ("Verify the upgrade" in docs/protocol.md).

import { createPublicKey, verify } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

const names = ["timestamp", "match", "recipient", "commitment", "beacon-round", "log-index"];
const maxAge = 30_000; // milliseconds

/**
 * Returns whether an arena has just signed these headers for this bot. key is the arena's
 * publicKey. recipient is the host of the bot's URL, or BOT-ID@HOST.
 */
export function verified(headers: IncomingHttpHeaders, key: string, recipient: string, now = Date.now()): boolean {
  const values = names.map((name) => String(headers[`x-arena-${name}`] ?? ""));
  const text = ["x-arena-signature-v2", ...values].join("\n");
  const x = Buffer.from(key, "base64").toString("base64url");
  if (!/^\d+$/.test(values[0]) || Math.abs(now - Number(values[0])) > maxAge || !`@${values[2]}`.endsWith(`@${recipient}`)) return false;
  try {
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, Buffer.from(text), publicKey, Buffer.from(String(headers["x-arena-signature-v2"] ?? ""), "base64"));
  } catch {
    return false; // the key is malformed
  }
}

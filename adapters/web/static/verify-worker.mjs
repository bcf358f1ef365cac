// A worker that checks a match, so that the page stays responsive. It receives a
// match's id and the heads that the browser has stored, because workers have no
// localStorage. It replies with {found}, or with {why} if it cannot check the match.
import { verifyAt } from './verify.mjs';

globalThis.onmessage = async ({ data: { id, stored } }) => {
  try {
    const found = await verifyAt(id, undefined, undefined, stored);
    const difference = found.difference && { message: found.difference.message };
    globalThis.postMessage({ found: { ...found, difference } });
  } catch (error) {
    globalThis.postMessage({ why: error.message });
  }
};

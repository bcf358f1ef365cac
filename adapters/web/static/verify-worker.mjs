// A worker that checks a match, so that the page stays responsive. It receives a match's
// id and replies with {found}, or with {why} if it cannot check the match.
import { verifyAt } from './verify.mjs';

globalThis.onmessage = async ({ data: id }) => {
  try {
    const found = await verifyAt(id);
    const difference = found.difference && { message: found.difference.message };
    globalThis.postMessage({ found: { ...found, difference } });
  } catch (error) {
    globalThis.postMessage({ why: error.message });
  }
};

// Checks a match beside its page, which is not held up by that. It is told a
// match's id, and answers {found} or, where nothing can be said, {why}.
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

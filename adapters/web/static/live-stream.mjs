// A stream of server-sent events that stays open. The browser resumes it after a lost
// connection. If the browser gives up, this module opens it again.

const firstWait = 1000; // ms
const longestWait = 30_000;

// follow opens a stream. It calls on.frame for each frame, on.decision for each decision
// in the stream of a trial, on.end for each ended match, on.stale with the age in seconds
// while the arena's log is unavailable, and on.state with "connecting", "live", "waiting" or "closed". It returns a function
// that closes the stream.
export function follow(url, on, { Source = globalThis.EventSource, later = setTimeout, jitter = Math.random } = {}) {
  let source;
  let closed = false;
  let wait = firstWait;
  const open = () => {
    if (closed) return;
    on.state?.('connecting');
    source = new Source(url);
    source.addEventListener('open', () => { wait = firstWait; on.state?.('live'); });
    source.addEventListener('frame', (e) => on.frame(JSON.parse(e.data)));
    source.addEventListener('decision', (e) => on.decision(JSON.parse(e.data)));
    source.addEventListener('end', (e) => on.end?.(JSON.parse(e.data)));
    source.addEventListener('stale', (e) => on.stale?.(JSON.parse(e.data).staleSeconds));
    source.addEventListener('error', failed);
  };
  // The browser reconnects automatically, except after a response that is not a stream,
  // such as one with status 429 or 503.
  const failed = () => {
    if (closed) return;
    on.state?.('waiting');
    if (source.readyState !== Source.CLOSED) return;
    later(open, wait * (0.75 + jitter() / 2));
    wait = Math.min(wait * 2, longestWait);
  };
  open();
  return () => {
    if (closed) return;
    closed = true;
    source.close();
    on.state?.('closed');
  };
}

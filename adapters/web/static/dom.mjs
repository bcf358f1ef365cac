// Small helpers for the page's elements.

export function element(tag, className = '', text = '') {
  const e = document.createElement(tag);
  e.className = className;
  e.textContent = text;
  return e;
}

// write changes an element's text only if it differs, because a change costs a new layout.
export function write(e, value) {
  const text = String(value);
  if (e && e.textContent !== text) e.textContent = text;
}

// readJSON fetches a path of the API. It throws if the response is not a success.
export async function readJSON(path) {
  const answer = await fetch(path, { headers: { accept: 'application/json' } });
  if (!answer.ok) throw new Error(`${path} responded with status ${answer.status}`);
  return answer.json();
}

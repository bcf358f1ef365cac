// The script of every page. Pages also work without it.
import { element } from './dom.mjs';

// Change the theme immediately. Without this script, the form reloads the page.
const toggle = document.querySelector("[data-theme-toggle]");
toggle?.addEventListener("submit", (event) => {
  event.preventDefault();
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
  toggle.querySelector("button").value = dark ? "dark" : "light";
});

// Hide or show results immediately. Without this script, the form reloads the page.
for (const form of document.querySelectorAll("[data-spoiler-switch]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { value } = event.submitter;
    document.documentElement.dataset.spoilers = value;
    document.cookie = `spoilers=${value}; path=/; max-age=31536000; samesite=lax`;
    form.querySelector(`[value="${value === "hide" ? "show" : "hide"}"]`).focus();
  });
}

// Copy the text of the field beside a button.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const field = button.parentElement.querySelector("textarea");
    field.select();
    await navigator.clipboard?.writeText(field.value);
    button.textContent = "Copied";
  });
}

// A deploy check takes seconds, so show each step as soon as it is done. Without this
// script, the form opens a page that shows the result after the check.
const steps = ["resolve", "ping", "upgrade"];

// progress adds a list of pending steps below a form.
function progress(form) {
  form.parentElement.querySelectorAll(".steps, .notice[role], .fault").forEach((e) => e.remove());
  form.querySelectorAll("[aria-invalid]").forEach((e) => e.removeAttribute("aria-invalid"));
  const list = element("ol", "steps");
  list.setAttribute("aria-label", "Deploy check");
  list.setAttribute("aria-live", "polite");
  for (const name of steps) {
    const item = element("li");
    item.append(element("strong", "", name), " ", element("span", "verdict"));
    list.append(item);
  }
  form.append(list);
  return list;
}

// sentence adds a capital letter and a full stop to the detail of an error.
const sentence = (detail) => detail.charAt(0).toUpperCase() + detail.slice(1) + (/[.!?:]$|^$/.test(detail) ? "" : ".");

// summary returns the sentence below a rejected form. Messages at fields need no
// repetition.
function summary(form, { detail, errors = [] }) {
  const marked = ({ field, message }) => form.elements.namedItem(field) instanceof HTMLElement && message !== detail && detail.includes(message);
  if (!errors.length || !errors.every(marked)) return sentence(detail);
  return errors.length === 1 ? "Correct the marked field." : "Correct the marked fields.";
}

function finishStep(list, { name, ok, detail, elapsedMs }) {
  const item = list.children[steps.indexOf(name)];
  if (!item) return;
  item.className = ok ? "ok" : "failed";
  item.querySelector(".verdict").textContent = ok ? "passed" : "failed";
  item.append(" ", element("span", "quiet", `${elapsedMs} ms`), element("br"), detail);
}

async function* lines(answer) {
  let text = "";
  for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
    const { value, done: ended } = await reader.read();
    if (ended) return;
    text += value;
    const whole = text.split("\n");
    text = whole.pop();
    yield* whole.map((line) => JSON.parse(line));
  }
}

// finish opens the next page, or shows the result of the check.
function finish(form, { location: next, refusal }) {
  if (next) {
    location.assign(next);
    return;
  }
  if (refusal?.code === "unauthenticated") {
    location.assign("/sign-in");
    return;
  }
  const good = !refusal && !form.querySelector(".steps .failed");
  const note = element("div", `notice ${good ? "good" : "bad"}`);
  note.setAttribute("role", refusal ? "alert" : "status");
  note.append(element("p", "", refusal && !refusal.steps ? summary(form, refusal) : good ? "The bot passes the deploy check." : "The bot does not pass the deploy check."));
  if (refusal && !refusal.steps) form.querySelector(".steps")?.remove();
  form.append(note);
  for (const { field, message } of refusal?.errors ?? []) {
    const input = form.elements.namedItem(field);
    if (!(input instanceof HTMLElement)) continue;
    input.setAttribute("aria-invalid", "true");
    if (message !== refusal.detail) input.closest("label").after(element("span", "fault", message.replace(/^(?=is |must )/, "This ")));
  }
}

for (const form of document.querySelectorAll("form[data-check]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    const sent = new URLSearchParams(new FormData(form, event.submitter));
    const list = progress(form);
    form.ariaBusy = "true";
    let last = {};
    try {
      const answer = await fetch(form.action, { method: "POST", body: sent, headers: { accept: "application/x-ndjson" } });
      if (answer.headers.get("content-type") !== "application/x-ndjson") throw new Error("no steps");
      for await (const line of lines(answer)) {
        if (line.step) finishStep(list, line.step);
        else last = line;
      }
    } catch {
      last = { refusal: { detail: "The connection to the arena was lost. Reload the page to see whether the change was made." } };
    }
    form.ariaBusy = null;
    finish(form, last);
  });
}

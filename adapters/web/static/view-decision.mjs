// Shows the decision that the current event of a match closed. Only the pages of
// `arena view` load this module. It shows a part of the page of the decision.
import { showPositions } from './position.mjs';

const settled = 120; // ms without a step before the decision is loaded

class DecisionView {
  constructor(box, match) {
    this.box = box;
    this.match = match;
    this.pages = new Map(); // promises by decision
    this.open = false; // whether the reader has opened the request
    this.box.addEventListener('toggle', (e) => { if (e.target.matches('[data-request]')) this.open = e.target.open; }, true);
  }

  // show waits until the reader pauses on an event.
  show({ data }) {
    clearTimeout(this.timer);
    this.wanted = data?.decision;
    this.timer = setTimeout(() => this.load(this.wanted), settled);
  }

  async load(id) {
    if (id === this.shown) return;
    let text;
    try {
      text = id === undefined ? this.message('No bot decided this event.') : await this.page(id);
    } catch {
      text = this.message('This decision did not load. Move to another event and back to try again.');
      this.pages.delete(id);
    }
    if (id !== this.wanted) return; // the reader has moved on
    this.shown = this.pages.has(id) || id === undefined ? id : NaN;
    this.box.replaceChildren(text);
    this.box.scrollTop = 0;
    showPositions(this.box);
    const request = this.box.querySelector('[data-request]');
    if (request) request.open = this.open;
  }

  async page(id) {
    if (!this.pages.has(id)) this.pages.set(id, this.fetch(id));
    return document.importNode(await this.pages.get(id), true);
  }

  async fetch(id) {
    const answer = await fetch(`/watch/${this.match}/decision/${id}`, { headers: { accept: 'text/html' } });
    if (answer.status === 404) return this.message('The record does not contain this decision.');
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('[data-decision-text]');
  }

  message(text) {
    const p = document.createElement('p');
    p.className = 'quiet';
    p.textContent = text;
    return p;
  }
}

const root = document.querySelector('[data-watch]');
const box = root?.querySelector('[data-decision]');
if (box) {
  const view = new DecisionView(box, root.dataset.watch);
  root.addEventListener('shown', (e) => view.show(e.detail));
}

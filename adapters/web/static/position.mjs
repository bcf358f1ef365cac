// Replaces the simple picture of a decision's position by the board of the match pages, with
// ids and the place that the bot's answer names.
import { mark } from './board-art.mjs';
import { createBoard } from './board.mjs';
import { placesOf } from './board-geometry.mjs';

// showPositions draws the boards of the decisions inside an element.
export function showPositions(root) {
  for (const decision of root.querySelectorAll('.refused:has([data-position])')) {
    const { view } = JSON.parse(decision.querySelector('[data-request] pre').textContent);
    const board = createBoard(view.board);
    board.show(view);
    board.describe(view);
    board.label(true);
    const places = placesOf(decision.querySelector('[data-answer]')?.textContent);
    board.attempt(places);
    decision.querySelector('[data-attempt]')?.toggleAttribute('hidden', Object.values(places).flat().length === 0);
    decision.querySelector('[data-position]').replaceChildren(board.element);
    decision.querySelector('[data-mark]')?.replaceChildren(mark(view.seat));
  }
}

showPositions(document);

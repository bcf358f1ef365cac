// The panels of the seats.
import { icon } from './board-art.mjs';
import { resources } from './board-geometry.mjs';
import { element, write } from './dom.mjs';
import { turnOf } from './watch-model.mjs';

const devNames = { knight: 'knight', victory_point: 'victory point', roadworks: 'roadworks', windfall: 'windfall', embargo: 'embargo' };

export class Seats {
  constructor(root) {
    this.panels = [...root.querySelectorAll('[data-seat]')].map((element) => new Panel(element));
    this.strip = [...root.querySelectorAll('.strip li')].map((element) => new Panel(element)); // a panel without details
  }

  // show fills the panels from a frame. open(seat) returns a seat's cards {hand, devs},
  // or null if they are hidden.
  show(frame, facts, open, over) {
    const turn = over ? -1 : turnOf(frame);
    const final = over ? frame.event.data?.scores : undefined; // includes hidden points
    for (const panels of [this.panels, this.strip]) {
      panels.forEach((panel, seat) => panel.show(frame, facts, seat, open(seat), seat === turn, final?.[seat]));
    }
  }

  // clock shows a text next to the seats that owe an answer.
  clock(owed, text) {
    this.panels.forEach((panel, seat) => panel.write('clock', owed.includes(seat) ? text : ''));
    this.strip.forEach((panel, seat) => panel.owes(owed.includes(seat)));
  }
}

class Panel {
  constructor(element) {
    this.element = element;
    this.slots = {};
    for (const slot of element.querySelectorAll('[data-slot]')) this.slots[slot.dataset.slot] = slot;
    this.cards = '';
  }

  write(name, value) {
    write(this.slots[name], value);
  }

  flag(name, on) {
    const slot = this.slots[name];
    if (slot && slot.hidden === on) slot.hidden = !on;
  }

  owes(on) {
    if (this.owing !== on) this.element.classList.toggle('owes', on);
    this.owing = on;
  }

  show(frame, facts, seat, cards, onTurn, final) {
    if (this.onTurn !== onTurn) {
      this.onTurn = onTurn;
      this.element.classList.toggle('on-turn', onTurn);
    }
    const hidden = cards ? cards.devs.filter((d) => d === 'victory_point').length : 0;
    this.write('points', final ?? frame.scores[seat] + hidden);
    this.write('hand', frame.handCounts[seat]);
    this.write('devs', frame.devCounts[seat]);
    this.write('knights', frame.knightsPlayed[seat]);
    this.write('roads', frame.roads.reduce((n, r) => n + (r.seat === seat), 0));
    this.write('thinking', seconds(facts.thinking[seat]));
    this.write('strikes', facts.strikes[seat]);
    this.flag('struck', facts.strikes[seat] > 0);
    this.flag('resigned', facts.resigned[seat] > 0);
    this.flag('road', frame.awards.longestRoad === seat);
    this.flag('army', frame.awards.largestArmy === seat);
    this.open(cards);
  }

  // open shows the cards of the seat, or hides them.
  open(cards) {
    const key = cards ? JSON.stringify(cards) : '';
    if (key === this.cards || !this.slots.cards) return;
    this.cards = key;
    this.slots.cards.hidden = !cards;
    this.slots.cards.replaceChildren(...(cards ? faces(cards) : []));
  }
}

function faces({ hand, devs }) {
  const held = resources.filter((r) => hand[r] > 0).map((r) => chip(`${hand[r]} ${r}`, r, icon(r), hand[r]));
  const counts = new Map();
  for (const d of devs) counts.set(d, (counts.get(d) ?? 0) + 1);
  return [...held, ...[...counts].map(([d, n]) => chip(`${n} ${devNames[d] ?? d}`, 'dev', `${devNames[d] ?? d} `, n))];
}

function chip(label, kind, face, n) {
  const item = element('span', `chip chip-${kind}`);
  item.title = label;
  item.append(face, element('span', '', n));
  return item;
}

function seconds(ms) {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

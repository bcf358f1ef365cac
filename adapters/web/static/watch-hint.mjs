// The hint beside the pointer: the event under the pointer, and the scores after it. A
// click goes to that event. Other code can show the hint at any place.
import { element } from './dom.mjs';

export class Hint {
  // lines(i) returns the nodes that describe event i, or nothing if it is not known yet.
  constructor(lines) {
    this.lines = lines;
    this.box = document.body.appendChild(element('div', 'hint'));
    this.box.hidden = true;
    this.box.setAttribute('aria-hidden', 'true');
  }

  // watch shows hints over an area. indexAt returns the event at a place, with x in pixels
  // and the width of the area, or -1.
  watch(area, indexAt, go) {
    const index = (e) => {
      const box = area.getBoundingClientRect();
      return indexAt(e.clientX - box.left, box.width);
    };
    area.addEventListener('pointermove', (e) => this.show(e, index(e)));
    area.addEventListener('pointerleave', () => this.hide());
    area.addEventListener('click', (e) => { // coordinates of clicks are rounded, so a visible hint decides
      const i = this.box.hidden ? index(e) : this.at;
      if (i >= 0) go(i);
    });
  }

  hide() { this.box.hidden = true; }

  // show shows event i at a place of the window, which a pointer event or {clientX, clientY}
  // names.
  show(e, i) {
    const lines = i < 0 ? undefined : this.lines(i);
    this.box.hidden = !lines;
    if (!lines) return;
    if (i !== this.at) this.box.replaceChildren(...lines);
    this.at = i;
    const x = Math.min(Math.max(e.clientX - this.box.offsetWidth / 2, 4), innerWidth - this.box.offsetWidth - 4);
    const above = e.clientY - this.box.offsetHeight - 14;
    this.box.style.transform = `translate(${x}px, ${above > 0 ? above : e.clientY + 18}px)`;
  }
}

// Reads the frames of a match from the API.
import { readJSON } from './dom.mjs';

const pageSize = 1000; // frames in one request
const firstPageSize = 400; // frames in the first request for a replay

export class Source {
  // match is the path of a match, or of a trial.
  constructor(match, get = readJSON) {
    this.path = `${match}/frames`;
    this.get = get;
  }

  // first reads the first frames of a match.
  first() { return this.get(`${this.path}?after=0&limit=${firstPageSize}`); }

  // pages yields the responses with the frames after a seq, one page at a time. The
  // parameter seat chooses whose hands the frames show: "" (none), "0" to "3", or
  // "all".
  async *pages(after = 0, seat = '') {
    const view = seat === '' ? '' : `&seat=${seat}`;
    for (;;) {
      const answer = await this.get(`${this.path}?after=${after}&limit=${pageSize}${view}`);
      yield answer;
      if (answer.frames.length < pageSize) return;
      after = answer.frames.at(-1).seq;
    }
  }
}

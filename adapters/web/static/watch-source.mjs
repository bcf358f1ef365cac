// Where the frames of a match come from.

const page = 1000; // frames asked for at once
export const opening = 400; // frames that a replay opens with

export class Source {
  constructor(id, get = read) {
    this.path = `/matches/${id}/frames`;
    this.get = get;
  }

  // first is the beginning of a match.
  first() { return this.get(`${this.path}?after=0&limit=${opening}`); }

  // pages hands over the frames behind a seq, a page at a time; seat is one of
  // frames' own ("", "0".."3", "all").
  async *pages(after = 0, seat = '') {
    const view = seat === '' ? '' : `&seat=${seat}`;
    for (;;) {
      const answer = await this.get(`${this.path}?after=${after}&limit=${page}${view}`);
      yield answer;
      if (answer.frames.length < page) return;
      after = answer.frames.at(-1).seq;
    }
  }
}

async function read(path) {
  const answer = await fetch(path, { headers: { accept: 'application/json' } });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return answer.json();
}

// Tests with whole matches. WATCHED names a file with the frames of each match, as the API
// returns them while the match runs and after it has ended.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { describeIsland, describePieces } from '../../static/board-text.mjs';
import { cards, plain, sentence } from '../../static/watch-log.mjs';
import { Timeline, gains, pointsOf, scoresOf, turnOf } from '../../static/watch-model.mjs';

const matches = JSON.parse(readFileSync(process.env.WATCHED));
const names = ['Ann', 'Bea', 'Cat', 'Dot'];

for (const { board, whole, running } of matches) {
  const seats = whole[0].seatCount;
  const tell = (frames) => frames.map((f, i) => plain(sentence(frames[i - 1] ?? null, f, board), names));

  test(`${seats} seats: every event has a sentence`, () => {
    for (const [i, text] of [...tell(whole).entries(), ...tell(running).entries()]) {
      assert.match(text, /^[A-Z].* /, `event ${i + 1}`);
      assert.doesNotMatch(text, /undefined|null|NaN|\[object/, `event ${i + 1}`);
      assert.notEqual(text.replace(/^\w+ /, ''), 'acts', JSON.stringify(whole[i]?.event));
    }
  });

  test(`${seats} seats: a running match has the same sentences as the ended one`, () => {
    const late = tell(whole);
    tell(running).forEach((text, i) => {
      const { data } = whole[i].event;
      const type = data?.action?.type;
      if (whole[i].event.kind === 'roll' || ['build_road', 'build_settlement', 'build_city', 'buy_dev', 'offer_trade', 'end_turn'].includes(type)) {
        assert.equal(text, late[i].replace(' (default)', ''), `event ${i + 1}`);
      }
    });
  });

  test(`${seats} seats: turns and the income of rolls follow from the frames`, () => {
    whole.forEach((f, i) => {
      if (f.event.kind !== 'roll') return;
      assert.equal(turnOf(f), f.event.seat, `turn ${f.turn}`);
      const paid = f.handCounts.map((n, s) => n - whole[i - 1].handCounts[s]);
      assert.deepEqual(gains(f, board).map((cards) => Object.values(cards).reduce((sum, n) => sum + n, 0)), paid, `turn ${f.turn}`);
    });
    assert.ok(tell(whole).some((text) => / rolls 8 .* · (Ann|Bea|Cat|Dot) \+[12] (brick|lumber|wool|grain|ore)/.test(text)), 'a roll says who got what');
    const setup = whole.filter((f, i) => f.event.kind === 'action' && whole[i - 1].phase === 'setup');
    setup.forEach((f) => assert.equal(turnOf(whole[f.seq - 2]), f.event.seat, `event ${f.seq}`));
  });

  test(`${seats} seats: a timeline takes each frame once and in order, and counts`, () => {
    const line = new Timeline(board, seats);
    assert.ok(!line.add(whole[1]), 'a gap');
    for (const f of whole) assert.ok(line.add(f), `event ${f.seq}`);
    assert.ok(!line.add(whole.at(-1)), 'again');
    const { dice, rolls, strikes, thinking, income: paid } = line.facts.at(-1);
    assert.equal(rolls, whole.at(-1).turn);
    assert.equal(dice.reduce((a, b) => a + b), rolls);
    assert.equal(strikes.reduce((a, b) => a + b), whole.filter((f) => ['timeout', 'illegal'].includes(f.event.kind)).length);
    assert.ok(thinking.every((ms) => ms > 0) && paid.every((n) => n >= 0));
    assert.equal(line.turns.length, rolls + 1);
    for (const step of [-3, -1, 1, 2]) {
      const from = line.turns[5];
      assert.equal(line.turnStart(from, step), line.turns[5 + step]);
    }
    assert.equal(line.turnStart(line.turns[5] + 1, -1), line.turns[5], 'back to the start of the turn');
    assert.equal(line.turnStart(line.length - 1, 1), line.length - 1);
    assert.equal(line.indexOf(1), 0);
    assert.equal(line.indexOf(10 ** 6), line.length - 1);
    assert.ok(['strike', 'robbery', 'award', 'trade', 'talk'].every((kind) => line.marks.some((m) => m.kind === kind)));
  });

  test(`${seats} seats: replays show the answers to offers, and running matches hide them`, () => {
    const timeline = (frames) => {
      const line = new Timeline(board, seats);
      for (const f of frames) line.add(f);
      return line;
    };
    const told = (line, i) => line.answersTo(line.frames[i]);
    const [late, early] = [timeline(whole), timeline(running)];
    let answers = 0;
    whole.forEach(({ event, openTrade }, i) => {
      assert.deepEqual(told(early, i), [], `event ${i + 1}`);
      if (event.data?.action?.type === 'offer_trade') assert.deepEqual(told(late, i), []);
      if (event.kind !== 'action' || event.data.kind !== 'trade' || !openTrade) return;
      answers++;
      assert.deepEqual(told(late, i).at(-1), { seat: event.seat, accepts: event.data.action.accept });
    });
    assert.ok(answers > 0);
  });

  test(`${seats} seats: the points of each seat add up`, () => {
    const last = whole.at(-1);
    for (let seat = 0; seat < seats; seat++) {
      const sum = pointsOf(last, seat).match(/-?\d+/g).reduce((total, n) => total + Number(n), 0);
      assert.equal(sum, scoresOf(last)[seat], pointsOf(last, seat));
      assert.equal(scoresOf(last)[seat], last.event.data.scores[seat]);
    }
  });

  test(`${seats} seats: every mark has the seat of its event`, () => {
    const line = new Timeline(board, seats);
    for (const f of whole) line.add(f);
    for (const m of line.marks) assert.ok(m.seat === undefined ? m.kind === 'award' : m.seat < seats, JSON.stringify(m));
    const eight = line.rollOf(8, -1);
    assert.equal(whole[eight].dice[0] + whole[eight].dice[1], 8);
    assert.ok(line.rollOf(8, eight) > eight);
  });

  test(`${seats} seats: the board in words`, () => {
    assert.match(describeIsland(board), /^Row 1: .*Row 5: .*Ports: 3 to 1 any at 0 and 3;/);
    const last = whole.at(-1);
    const text = describePieces(last, board, names);
    assert.match(text, /^The bandit is on hex \d+, /);
    assert.equal(text.match(/settlement on|city on/g).length, last.towns.length);
    assert.match(text, new RegExp(`Ann: ${last.scores[0]} points`));
  });
}

test('cards are listed in a fixed order', () => {
  assert.equal(plain(cards({ ore: 2, brick: 1 }), names), '1 brick, 2 ore');
  assert.equal(plain(cards({}), names), 'nothing');
});

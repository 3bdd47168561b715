import { setImmediate as soon } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from './turns.js';

/** Takes so many turns, and says when each began and ended. */
async function work(turns: Turns, who: string, times: number, said: string[]): Promise<void> {
  for (let nth = 0; nth < times; nth += 1) {
    await turns.take(who);
    said.push(`${who} begins`);
    await soon();
    said.push(`${who} ends`);
  }
  turns.leave(who);
}

it('lets one after the other have its turn, and nobody before all are there', async () => {
  const turns = new Turns(['a', 'b']);
  const said: string[] = [];
  const first = work(turns, 'b', 2, said);
  await soon();
  expect(said).toEqual([]);
  await Promise.all([first, work(turns, 'a', 2, said)]);
  const each = (who: string): string[] => [`${who} begins`, `${who} ends`];
  expect(said).toEqual([...each('a'), ...each('b'), ...each('a'), ...each('b')]);
});

it('goes on without whoever has left, before its first turn or in one', async () => {
  const turns = new Turns(['a', 'b', 'c']);
  const said: string[] = [];
  const others = [work(turns, 'b', 1, said), work(turns, 'c', 3, said)];
  turns.leave('a');
  await Promise.all(others);
  expect(said.filter((each) => each.endsWith('begins'))).toEqual(['b', 'c', 'c', 'c'].map((who) => `${who} begins`));
});

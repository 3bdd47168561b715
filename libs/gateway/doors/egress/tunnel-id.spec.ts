import { randomUUID } from 'node:crypto';
import { TextPlace, placeText } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { tunnelIdOf } from './tunnel-id.js';

it('is what the agent says, as long as a list can go on by it', () => {
  for (const said of [randomUUID(), 'made-by-hand', 'a'.repeat(64)]) expect(tunnelIdOf(said)).toBe(said);
  for (const said of ['', 'a'.repeat(65), 'a b', 'ü', '\u0000', '\ud800', 'a\n']) {
    const id = tunnelIdOf(said);
    expect(id).not.toBe(said);
    expect(TextPlace.safeParse(placeText({ atMs: Date.now(), id })).success).toBe(true);
  }
});

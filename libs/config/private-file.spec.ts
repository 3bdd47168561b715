import { expect, it } from 'vitest';
import { isPrivate, shownMode } from './private-file.js';

it('is private if only its owner has access; to a group of root, it may be readable', () => {
  for (const mode of [0o600, 0o400, 0o700]) expect(isPrivate({ mode: 0o100_000 | mode, uid: 1_000 })).toBe(true);
  for (const mode of [0o640, 0o440]) {
    expect([isPrivate({ mode, uid: 0 }), isPrivate({ mode, uid: 65_532 })]).toEqual([true, false]);
  }
  for (const mode of [0o604, 0o602, 0o601, 0o644, 0o620, 0o610, 0o660]) expect(isPrivate({ mode, uid: 0 })).toBe(false);
  expect(shownMode({ mode: 0o100_644, uid: 0 })).toBe('644');
});

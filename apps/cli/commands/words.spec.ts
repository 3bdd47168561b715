// This program brings no contracts along, but has to know all that they have a word for.
import { DoorName, PassageKind } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { DOORS } from './audit.js';
import { KINDS } from './session.js';

it('knows every door, and every kind of what goes through one', () => {
  expect(DOORS).toEqual(DoorName.options);
  expect(KINDS).toEqual(PassageKind.options);
});

// @tier full: a rotation at length under load; libs/installation/ca-rotation and libs/keys/rotation show each step
import { expect, it } from 'vitest';
import { Findings } from '../chaos/findings.js';
import { NO_WORLD } from './scenarios/index.js';
import { rotation } from './scenarios/rotation.js';
import { SCALED } from './sizes.js';

it('a root is rotated under load: nobody is cut off but who was told that they would be', async () => {
  const findings = new Findings(SCALED);
  await rotation.run(NO_WORLD, SCALED, findings);
  expect(findings.faults.join('\n')).toBe('');
});

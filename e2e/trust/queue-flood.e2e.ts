// @tier full: a flood at length; libs/registration/approval shows the bounds of the queue and who keeps a place
import { expect, it } from 'vitest';
import { Findings } from '../chaos/findings.js';
import { NO_WORLD } from './scenarios/index.js';
import { queueFlood } from './scenarios/queue-flood.js';
import { SCALED } from './sizes.js';

it('the unauthenticated fill the queue to its bound, learn nothing, and keep nobody with a token out', async () => {
  const findings = new Findings(SCALED);
  await queueFlood.run(NO_WORLD, SCALED, findings);
  expect(findings.faults.join('\n')).toBe('');
});

// @tier full: minutes of renewals under load; libs/gateway/renewing-certificate and libs/keys/renewals show one
import { expect, it } from 'vitest';
import { Findings } from '../chaos/findings.js';
import { NO_WORLD } from './scenarios/index.js';
import { shortLives } from './scenarios/short-lives.js';
import { SCALED } from './sizes.js';

it('certificates that live for seconds are renewed under load, and no connection is dropped for it', async () => {
  const findings = new Findings(SCALED);
  await shortLives.run(NO_WORLD, SCALED, findings);
  expect(findings.faults.join('\n')).toBe('');
});

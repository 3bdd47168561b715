import { FairleadError } from '@fairlead/errors';
import { silentLogger, type LogFields, type Logger } from '@fairlead/observability';
import { beforeEach, expect, it } from 'vitest';
import { UntrustedEndpoints } from './untrusted-endpoints.js';

let said: string[];
const logger: Logger = {
  ...silentLogger,
  error: (event: string, fields?: LogFields) => void said.push(`${event}: ${String(fields?.['next'])}`),
};
const stranger = new FairleadError('UNTRUSTED_PEER', 'somebody else');
const away = new FairleadError('UNAVAILABLE', 'nobody there');

beforeEach(() => {
  said = [];
});

it('says the way back once, when every endpoint was somebody else twice, whoever is away meanwhile', () => {
  const strangers = new UntrustedEndpoints(() => 2, logger);
  const outcomes = [stranger, away, stranger, stranger, away].map((failure) => strangers.met(failure, 0, 3));
  expect([outcomes, strangers.only, said]).toEqual([[false, false, false, false, false], false, []]);
  expect([strangers.met(stranger, 0, 3), strangers.met(away, 0, 3), strangers.met(stranger, 0, 3)]).toEqual([
    true,
    false,
    true,
  ]);
  expect([strangers.only, said]).toEqual([true, [expect.stringContaining('fairlead cluster import')]]);
});

it('forgets them when a link stands, and counts none while one does', () => {
  const strangers = new UntrustedEndpoints(() => 1, logger);
  strangers.met(stranger, 0, 1);
  strangers.linked();
  for (let i = 0; i < 5; i += 1) expect(strangers.met(stranger, 1, 1)).toBe(false);
  expect(strangers.met(stranger, 0, 1)).toBe(false);
  expect([strangers.only, said]).toEqual([false, []]);
});

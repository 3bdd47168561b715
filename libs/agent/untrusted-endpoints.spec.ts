import { FairleadError } from '@fairlead/errors';
import { silentLogger, type LogFields, type Logger } from '@fairlead/observability';
import { beforeEach, expect, it } from 'vitest';
import { UntrustedEndpoints } from './untrusted-endpoints.js';

let said: string[];
const logger: Logger = {
  ...silentLogger,
  error: (event: string, fields?: LogFields) => void said.push(`${event}: ${String(fields?.['next'])}`),
};
const untrusted = new FairleadError('UNTRUSTED_PEER', 'somebody else');
const away = new FairleadError('UNAVAILABLE', 'nobody there');

beforeEach(() => {
  said = [];
});

it('says the way back once, when every endpoint was somebody else twice, whoever is away meanwhile', () => {
  const endpoints = new UntrustedEndpoints(() => 2, logger);
  const outcomes = [untrusted, away, untrusted, untrusted, away].map((failure) => endpoints.met(failure, 0, 3));
  expect([outcomes, endpoints.only, said]).toEqual([[false, false, false, false, false], false, []]);
  expect([endpoints.met(untrusted, 0, 3), endpoints.met(away, 0, 3), endpoints.met(untrusted, 0, 3)]).toEqual([
    true,
    false,
    true,
  ]);
  expect([endpoints.only, said]).toEqual([true, [expect.stringContaining('fairlead cluster import')]]);
});

it('forgets them when a link stands, and counts none while one does', () => {
  const endpoints = new UntrustedEndpoints(() => 1, logger);
  endpoints.met(untrusted, 0, 1);
  endpoints.linked();
  for (let i = 0; i < 5; i += 1) expect(endpoints.met(untrusted, 1, 1)).toBe(false);
  expect(endpoints.met(untrusted, 0, 1)).toBe(false);
  expect([endpoints.only, said]).toEqual([false, []]);
});

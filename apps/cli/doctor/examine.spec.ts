import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { expect, it } from 'vitest';
import type { Io } from '../io.js';
import type { ApiClient } from '../session/api-client.js';
import type { Login } from '../session/login-store.js';
import { examine } from './examine.js';

/** Which checks there are where each question to the API ends so. */
async function checksWhere(code: ErrorCode): Promise<string[]> {
  const api = { ask: () => Promise.reject(new FairleadError(code, 'no')) } as unknown as ApiClient;
  const checks: string[] = [];
  for await (const { check, ok } of examine({} as Io, api, { server: 'https://x' } as Login, 'demo'))
    checks.push(`${ok ? 'ok' : 'failed'} ${check}`);
  return checks;
}

it('says of doors that they go on where the API is away, and nothing of them where it refuses', async () => {
  expect(await checksWhere('UNAVAILABLE')).toEqual(['failed api', 'ok door']);
  expect(await checksWhere('UNAUTHENTICATED')).toEqual(['failed api']);
});

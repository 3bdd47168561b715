// @tier full: a tool that is installed for it, and ten thousand requests; libs/api asks each operation once, and checks each answer by the same document
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fairlead } from '../support/fairlead.js';
import { pythonWith } from '../support/python-environment.js';
import { sayVersion, tryTool } from '../support/run-tool.js';
import { startTestStack, type TestStack } from '../support/test-stack.js';

/** For each operation, of each way to make requests. */
const EXAMPLES = 25;
/** For all of them; of a busy machine. The test waits for a little longer. */
const TIMEOUT_MS = 20 * 60_000;
const TEST = { timeout: TIMEOUT_MS + 60_000 };
/** No answer of another kind than the document says, and never a 500. */
const CHECKS = [
  'no_fault_of_ours',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];
/** It never ends, and the tool would wait for it: apps/api/audit-streams asks it. */
const ENDLESS = '/v1/audit/tail';
/** What it found, line by line; and that it tried something. */
const NOTHING_WRONG = { code: 0, found: [], tried: expect.stringMatching(/^\d{4,} generated/) as string };
const SETTINGS = join(import.meta.dirname, 'schemathesis.toml');

let running: TestStack;
let stack: Stack;
let python: string;

beforeAll(async () => {
  python = await pythonWith(join(import.meta.dirname, 'requirements.txt'));
  running = await startTestStack({ demo: false });
  ({ stack } = running);
});
afterAll(() => running?.[Symbol.asyncDispose]());

/** Everything that the document describes, made from its schemas, by this token. */
async function tryEverything(tokenFile: string): Promise<unknown> {
  const { url, caFile } = stack.api;
  const which = ['--checks', CHECKS.join(','), '--phases', 'examples,coverage,fuzzing', '--exclude-path', ENDLESS];
  // The same requests each time, and none that an earlier run kept.
  const same = ['--seed', '1', '--max-examples', String(EXAMPLES), '--generation-database', 'none'];
  const how = ['--continue-on-failure', '--suppress-health-check', 'all', '--request-timeout', '60', '--no-color'];
  // A connection that is kept may be closed in the moment when the next request is sent on it, as HTTP/1.1 has it.
  const patient = ['--request-retries', '3'];
  const args = ['--config-file', SETTINGS, 'run', `${url}/openapi.json`, '--tls-verify', caFile];
  const env = {
    HOME: stack.stateDir,
    FAIRLEAD_TOKEN: (await readFile(tokenFile, 'utf8')).trim(),
    SCHEMATHESIS_HOOKS: 'hooks',
    PYTHONPATH: import.meta.dirname,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const { code, stdout, stderr } = await tryTool(
    python,
    ['-m', 'schemathesis.cli', ...args, ...which, ...same, ...how, ...patient],
    env,
    { timeoutMs: TIMEOUT_MS, cwd: stack.stateDir },
  );
  const [version = ''] = stdout.split('\n', 1);
  const tried = /\d+ generated/.exec(stdout)?.[0] ?? stderr;
  sayVersion(version, tried);
  return { code, found: code === 0 ? [] : stdout.split('\n'), tried };
}

it('answers an administrator as its document says, whatever is asked', TEST, async () => {
  expect(await tryEverything(stack.api.adminTokenFile)).toEqual(NOTHING_WRONG);
});

it('answers somebody who was granted nothing as its document says', TEST, async () => {
  const tokenFile = join(stack.stateDir, 'nobody.token');
  await fairlead(stack, 'api-token', 'create', 'nobody', '--for', '1h', '--out', tokenFile);
  expect(await tryEverything(tokenFile)).toEqual(NOTHING_WRONG);
});

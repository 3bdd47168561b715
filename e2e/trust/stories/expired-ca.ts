import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { entryOf } from '@fairlead/stack';
import { beforeAll, expect, it } from 'vitest';
import { invite, startLooseAgent } from '../../support/loose-agent.js';
import { queryDatabase } from '../../support/service-database.js';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';
import { watchProcess } from '../../support/watching.js';

/** An issuing CA lives for two years, and is replaced long before its end: unless its root's key is kept elsewhere. */
const YEARS_LATER = `globalThis.Date = class extends Date {
  constructor(...args) { super(...(args.length === 0 ? [Date.now()] : args)); }
  static now() { return super.now() + 3 * 365 * 86400000; }
};`;
const OFFLINE = "update keys.authorities set sealed_key = null where kind = 'identity-root' returning id";

let running: TestStack;

beforeAll(() => {
  running = sharedStack();
});

/** The keys service with the settings it has in this installation, in a later year. */
function startLater(env: Readonly<Record<string, string>>): ChildProcess {
  const preload = `data:text/javascript,${encodeURIComponent(YEARS_LATER)}`;
  return spawn(process.execPath, ['--import', preload, entryOf('keys')], { stdio: ['ignore', 'pipe', 'pipe'], env });
}

it('an issuing CA that has ended under an offline root signs nothing, says what to do, and cuts nobody off', async () => {
  const { stack } = running;
  const keys = stack.process('keys');
  const raw = await readFile(`/proc/${keys.pid}/environ`, 'utf8');
  const pairs = raw.split('\0').filter((pair) => pair.includes('=') && !pair.startsWith('NODE_CHANNEL_'));
  const env = Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  const invitation = await invite(stack, 'late');
  keys.kill('SIGTERM');
  await keys.exited;
  expect(await queryDatabase(stack, 'keys', OFFLINE)).toHaveLength(1);
  const later = startLater({ ...env, FAIRLEAD_HEALTH_LISTEN: '127.0.0.1:0' });
  await using said = watchProcess(later);
  await said.line(/"event":"process.ready"/, 60_000);
  await using agent = await startLooseAgent(stack, { invitation });
  const { code, reason } = await agent.event('agent.enrolment.failed');
  expect([code, reason]).toEqual(['UNAVAILABLE', expect.stringMatching(/issuing CA .* ended on .*issuing-csr/)]);
  // Who has a certificate goes on with it.
  expect((await stack.kubectl(['get', 'namespaces'], { timeoutMs: 30_000 })).code).toBe(0);
  later.kill('SIGTERM');
  await once(later, 'exit');
  // With an issuing CA that is in date the agent is let in: it has asked on and on, and its token was not spent.
  await keys.restart();
  await agent.event('link.established', 120_000);
});

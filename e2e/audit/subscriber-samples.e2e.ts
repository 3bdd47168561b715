// @tier full: Go is compiled and Python's packages are installed; e2e/audit/log runs the same sample in TypeScript
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fairlead } from '../support/fairlead.js';
import { pythonWith } from '../support/python-environment.js';
import { runTool } from '../support/run-tool.js';
import { SUBSCRIBERS, makeSubscriber, runSubscriber, type ToldEvent } from '../support/subscriber-sample.js';
import { startTestStack, type TestStack } from '../support/test-stack.js';

let running: TestStack;
beforeAll(async () => {
  running = await startTestStack({ demo: false });
});
afterAll(() => running?.[Symbol.asyncDispose]());

/** How often it was told of the one thing that happened. */
async function toldTwice(name: string, command: string, ...args: string[]): Promise<number> {
  const { stack } = running;
  const subscriber = await makeSubscriber(stack, name, 'api-token.created');
  await using sample = runSubscriber(stack, subscriber, command, ...args);
  await fairlead(stack, 'api-token', 'create', name, '--for', '1h', '--out', join(stack.stateDir, `${name}.token`));
  const created = ({ type, data }: ToldEvent): boolean =>
    type === 'dev.fairlead.api-token.created.v1' && data['name'] === name;
  await sample.until(1, created);
  await fairlead(stack, 'subscriber', 'replay', name, '--from', '1');
  await sample.until(2, created);
  return sample.told.filter(created).length;
}

it('Go is told, and told again', async () => {
  const binary = join(running.stack.stateDir, 'subscriber-go');
  const { HOME = '', GOPROXY = '', GOFLAGS = '', GOCACHE = '' } = process.env;
  const set = Object.entries({ HOME, GOPROXY, GOFLAGS, GOCACHE }).filter(([, value]) => value !== '');
  await runTool('go', ['build', '-o', binary, '.'], Object.fromEntries(set), { cwd: join(SUBSCRIBERS, 'go') });
  expect(await toldTwice('go', binary)).toBeGreaterThan(1);
});

it('Python is told, and told again', async () => {
  const python = await pythonWith(join(SUBSCRIBERS, 'python', 'requirements.txt'));
  expect(await toldTwice('python', python, join(SUBSCRIBERS, 'python', 'subscriber.py'))).toBeGreaterThan(1);
});

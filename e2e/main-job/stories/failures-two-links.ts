import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedStack } from '../../support/shared-stack.js';
import { kubectl, sessionsOf, type TestStack } from '../../support/test-stack.js';

let running: TestStack;

beforeAll(async () => {
  running = sharedStack();
  await eventually(oneLinkEach);
});

async function oneLinkEach(): Promise<void> {
  for (const { name, healthUrl } of running.stack.gateways) {
    const sessions = await sessionsOf(healthUrl);
    if (sessions !== 1) throw new Error(`${name} holds ${sessions} links`);
  }
}

describe('with two links', () => {
  it('the very next request works when a replica is killed, whichever it is', async () => {
    const { stack } = running;
    for (const [victim, survivor] of [
      ['gateway-a', 'gateway-b'],
      ['gateway-b', 'gateway-a'],
    ] as const) {
      stack.process(victim).kill('SIGKILL');
      await stack.process(victim).exited;
      expect(await kubectl(stack, survivor, ['get', 'ns'])).toContain('default');
      await stack.process(victim).restart();
      await eventually(oneLinkEach, { timeoutMs: 60_000 });
    }
  });
});

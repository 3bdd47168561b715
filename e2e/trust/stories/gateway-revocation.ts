import { eventually } from '@fairlead/testing';
import { beforeAll, expect, it } from 'vitest';
import { fairlead } from '../../support/fairlead.js';
import { sharedStack } from '../../support/shared-stack.js';
import { sessionsOf, type TestStack } from '../../support/test-stack.js';

interface Listed {
  readonly certificates: readonly {
    readonly serial: string;
    readonly names: string[];
    readonly revokedAt: string | null;
  }[];
}

let running: TestStack;

beforeAll(async () => {
  running = sharedStack();
  await everybodyLinked();
});

async function everybodyLinked(): Promise<void> {
  await eventually(
    async () => {
      for (const { name, healthUrl } of running.stack.gateways) {
        if ((await sessionsOf(healthUrl)) !== 1) throw new Error(`${name} does not hold one link`);
      }
    },
    { timeoutMs: 60_000 },
  );
}

/** Serial numbers of a gateway's certificates that are not revoked, and of those that are. */
async function certificatesOf(gateway: string): Promise<{ good: string[]; revoked: string[] }> {
  const { certificates } = JSON.parse(
    await fairlead(running.stack, 'certificate', 'list', '--gateways', '-o', 'json'),
  ) as Listed;
  const own = certificates.filter(({ names }) => names[0]?.endsWith(`/gateway/${gateway}`));
  const serials = (isRevoked: boolean): string[] =>
    own.filter(({ revokedAt }) => (revokedAt !== null) === isRevoked).map(({ serial }) => serial);
  return { good: serials(false), revoked: serials(true) };
}

async function trustVersion(): Promise<number> {
  return (JSON.parse(await fairlead(running.stack, 'ca', 'status', '-o', 'json')) as { trustVersion: number })
    .trustVersion;
}

it('a gateway whose certificates are revoked goes on with another one; agents and the other replica take it again', async () => {
  const [before, version] = [await certificatesOf('gateway-a'), await trustVersion()];
  expect([before.good.length > 0, before.revoked]).toEqual([true, []]);
  const told = await fairlead(
    running.stack,
    'certificate',
    'revoke',
    'gateway/gateway-a',
    '--reason',
    'copied',
    '--yes',
  );
  expect(told).toBe(`gateway gateway-a: ${before.good.length} certificates revoked\n`);
  await eventually(
    async () => {
      const { good, revoked } = await certificatesOf('gateway-a');
      expect([good.length > 0, revoked.toSorted()]).toEqual([true, before.good.toSorted()]);
    },
    { timeoutMs: 60_000 },
  );
  expect((await certificatesOf('gateway-b')).revoked).toEqual([]);
  expect(await trustVersion()).toBe(version + 1);
  await everybodyLinked();
  for (const context of ['demo@gateway-a', 'demo@gateway-b']) {
    const { code, stderr } = await running.stack.kubectl(['get', 'ns'], { context, timeoutMs: 30_000 });
    expect([context, code, stderr]).toEqual([context, 0, '']);
  }
});

import type { Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import { z } from 'zod';
import { metricOf } from '../../support/replicas.js';
import { ON_SMALL_DISK, asAdministrator, type AuditWorld } from './world.js';

const GATEWAYS = ['gateway-a', 'gateway-b'] as const;
const REFUSED_WITHIN_MS = 120_000;

/** Takes something away and gives it back; resolves when that runs again. `nth` counts from 1. */
export type Disturb = (world: AuditWorld, nth: number) => Promise<void>;

/** SIGKILL, and a start with what it left on its disk. */
async function killAndReturn(stack: Stack, name: string): Promise<void> {
  const process = stack.process(name);
  process.kill('SIGKILL');
  await process.exited;
  await process.restart();
}

export const killed =
  (name: string): Disturb =>
  ({ stack }) =>
    killAndReturn(stack, name);

/** The two in turn, beginning with this one. */
export const gatewaysInTurn =
  (first: 0 | 1): Disturb =>
  ({ stack }, nth) =>
    killAndReturn(stack, GATEWAYS[(first + nth - 1) % GATEWAYS.length] ?? '');

/** Until a write was refused as it could not be put on record; and then until the log says how much was lost, which the gateway knows by heart alone before. */
export const fullDisk: Disturb = async ({ stack, disk }) => {
  // What was disturbed before may have to find its database again.
  const toldBefore = await eventually(() => toldLost(stack), { timeoutMs: REFUSED_WITHIN_MS });
  const before = await refusedAt(stack);
  const empty = await disk.fill();
  try {
    await eventually(
      async () => {
        if ((await refusedAt(stack)) === before) throw new Error('no write was refused, though the spool has no room');
      },
      { timeoutMs: REFUSED_WITHIN_MS, intervalMs: 100 },
    );
  } finally {
    await empty();
  }
  await eventually(
    async () => {
      if ((await toldLost(stack)) === toldBefore) throw new Error('the log does not say that records were lost');
    },
    { timeoutMs: REFUSED_WITHIN_MS, intervalMs: 500 },
  );
};

const Entries = z.object({ entries: z.array(z.object({ number: z.int() })) });

/** The newest entry that says so; 0: there is none. */
async function toldLost(stack: Stack): Promise<number> {
  const found = await asAdministrator(stack, `${stack.api.url}/v1/audit/entries?entry=lost&limit=1`);
  return Entries.parse(found).entries[0]?.number ?? 0;
}

async function refusedAt({ gateways }: Stack): Promise<number> {
  const { healthUrl } = gateways.find(({ name }) => name === ON_SMALL_DISK) ?? {};
  return metricOf(healthUrl ?? '', 'fairlead_gateway_kube_requests_total', 'outcome="AUDIT_UNAVAILABLE"');
}

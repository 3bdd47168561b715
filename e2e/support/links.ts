import type { Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import { sessionsAt } from './replicas.js';

/** Session ids of all links at all replicas. */
export async function sessionIds(stack: Stack): Promise<string[]> {
  const all = await Promise.all(stack.gateways.map((gateway) => sessionsAt(gateway)));
  return all.flat().map(({ sessionId }) => sessionId);
}

/** The same, as soon as there are so many. */
export function allLinked(stack: Stack, links: number): Promise<string[]> {
  return eventually(
    async () => {
      const ids = await sessionIds(stack);
      if (ids.length !== links) throw new Error(`${ids.length} of ${links} links`);
      return ids;
    },
    { timeoutMs: 60_000 },
  );
}

/** In events, in the place of a token's id, for an agent that an administrator let in. */
export const ADOPTION = 'adoption';

/** What the queue of agents that wait for an administrator holds at most, and for how long. */
export const QUEUE = {
  /** Pending requests of one tenant without a token; as many again with one: who has none keeps nobody out who was invited. */
  perTenant: 1_000,
  /** Without a token, of one source address, or one IPv6 /64: a fleet behind one address still fits, and one guest cannot fill the queue. */
  perAddress: 100,
  /** Decided requests of one tenant that are remembered; those decided first are forgotten first, and ask anew. */
  decidedPerTenant: 5_000,
  /** After this a request is gone, decided or not; the agent asks anew. */
  lifeMs: 24 * 3_600_000,
  /** An agent that waits asks every half minute or so; one that stopped is not kept. */
  silenceMs: 30 * 60_000,
} as const;

/** Why another request is not taken; null if it is. */
export function whyFull(
  pending: { readonly ofTenant: number; readonly ofAddress: number },
  invited: boolean,
): string | null {
  if (!invited && pending.ofAddress >= QUEUE.perAddress) {
    return `${QUEUE.perAddress} agents from this address wait already; approve or reject them first`;
  }
  if (pending.ofTenant >= QUEUE.perTenant)
    return `${QUEUE.perTenant} agents wait already; approve or reject them first`;
  return null;
}

/** What the queue of agents that wait for an administrator holds at most, and for how long. */
export const QUEUE = {
  /** Pending requests of one tenant. */
  perTenant: 1_000,
  /** Of one source address, or one IPv6 /64: a fleet behind one address still fits, and one guest cannot fill the queue. */
  perAddress: 100,
  /** Decided requests of one tenant that are remembered; those decided first are forgotten first, and ask anew. */
  decidedPerTenant: 5_000,
  /** After this a request is gone, decided or not; the agent asks anew. */
  lifeMs: 24 * 3_600_000,
  /** An agent that waits asks every half minute or so; one that stopped is not kept. */
  silenceMs: 30 * 60_000,
} as const;

/** Why another request is not taken; null if it is. */
export function whyFull(pending: { readonly ofTenant: number; readonly ofAddress: number }): string | null {
  if (pending.ofAddress >= QUEUE.perAddress) {
    return `${QUEUE.perAddress} agents from this address wait already; approve or reject them first`;
  }
  if (pending.ofTenant >= QUEUE.perTenant)
    return `${QUEUE.perTenant} agents wait already; approve or reject them first`;
  return null;
}

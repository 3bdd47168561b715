/** The durable consumer of a subscriber on the stream of events. */
export function subscriberConsumer(subscriberId: string): string {
  return `subscriber-${subscriberId}`;
}

/**
 * Where a subscriber receives what it fetches: below its public key. All subscribers share an account, and NATS checks no permission on a reply
 * subject: so the prefix is one that no other subscriber can know.
 */
export function subscriberInboxPrefix(publicKey: string): string {
  return `_INBOX_${publicKey}`;
}

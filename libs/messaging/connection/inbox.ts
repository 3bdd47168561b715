import type { Role } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';

/** Who holds a NATS credential. `operator` provisions streams and buckets, and calls no service. */
export interface Holder {
  readonly role: Role | 'operator';
  readonly credential: string;
}

/**
 * Where a holder receives replies. NATS permissions let it subscribe only below its own, so that nobody reads another's
 * replies; a service answers only to the inbox of the caller that the subject names.
 */
export function inboxPrefix(holder: Holder): string {
  return `_INBOX_${holder.role}_${holder.credential}`;
}

const prefixes = new WeakMap<NatsConnection, string>();

/** Notes the prefix that a connection was made with: whoever makes an inbox of its own must stay below it. */
export function rememberInboxPrefix(nc: NatsConnection, holder: Holder): void {
  prefixes.set(nc, inboxPrefix(holder));
}

/** The prefix of a connection made by `connectNats`; undefined (the library's default) for any other. */
export function inboxPrefixOf(nc: NatsConnection): string | undefined {
  return prefixes.get(nc);
}

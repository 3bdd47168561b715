import { FairleadError, messageOf } from '@fairlead/errors';
import { jetstream } from '@nats-io/jetstream';
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { connectionState, whileConnected } from '../connection/connection-state.js';

const TIMEOUT_MS = 5_000;
/** Of a value as it is stored: what is larger is not written, and not read. */
export const MAX_VALUE_BYTES = 65_536;
/** How long a deletion is remembered: longer than any watcher needs, and gone before a million sessions pile up. */
const TOMBSTONE_TTL = '1h';

/**
 * Stores a value as JSON, and returns when the server has it on disk. UNAVAILABLE if NATS is away or refuses, at the
 * latest after 5 s; TOO_LARGE above 64 KiB.
 */
export async function putKv(nc: NatsConnection, bucket: string, key: string, value: unknown): Promise<void> {
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) {
    throw new FairleadError('TOO_LARGE', `the value of ${bucket}/${key} is larger than ${MAX_VALUE_BYTES} bytes`);
  }
  await publish(nc, bucket, key, text);
}

/** Deletes a key. The deletion itself is forgotten after an hour (nats-server 2.11 and newer; older ones keep it). */
export async function deleteKv(nc: NatsConnection, bucket: string, key: string): Promise<void> {
  const operation = headers();
  // Takes the value's place, as the bucket keeps one message a key: no rollup is needed, which could take other keys as well.
  operation.set('KV-Operation', 'DEL');
  if (supportsMessageTtl(nc)) operation.set('Nats-TTL', TOMBSTONE_TTL);
  await publish(nc, bucket, key, '', operation);
}

/** Can this server forget single messages by themselves? */
export function supportsMessageTtl(nc: NatsConnection): boolean {
  const [major = 0, minor = 0] = (nc.info?.version ?? '').split('.').map(Number);
  return major > 2 || (major === 2 && minor >= 11);
}

async function publish(nc: NatsConnection, bucket: string, key: string, text: string, hdrs?: MsgHdrs): Promise<void> {
  if (!connectionState(nc).connected) {
    throw new FairleadError('UNAVAILABLE', 'NATS is away', { details: { bucket } });
  }
  try {
    const options = { timeout: TIMEOUT_MS, ...(hdrs ? { headers: hdrs } : {}) };
    await whileConnected(nc, jetstream(nc).publish(`$KV.${bucket}.${key}`, text, options));
  } catch (error) {
    throw new FairleadError('UNAVAILABLE', `NATS did not store ${bucket}/${key}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

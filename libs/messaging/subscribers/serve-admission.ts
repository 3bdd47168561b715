import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { KeyPair } from '@nats-io/nkeys';
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { connectionState } from '../connection/connection-state.js';
import { CONNECTION_SECONDS, admit, readAdmission, type KnownKeys } from './admission.js';

/** Where nats-server asks, in the account of the processes. */
export const ADMISSION_SUBJECT = '$SYS.REQ.USER.AUTH';
const MAX_REQUEST_BYTES = 16 * 1024;
/** At once. More are turned away, and ask again. */
const MAX_AT_ONCE = 64;

export interface AdmissionOptions {
  readonly nats: NatsConnection;
  /** Queue group: one of its members answers. */
  readonly queue: string;
  readonly issuer: KeyPair;
  readonly known: KnownKeys;
  readonly logger: Logger;
  /** For so long each is let in. Default: CONNECTION_SECONDS. */
  readonly connectionSeconds?: number;
  /** Told of each one that was let in or turned away. */
  readonly onDecided?: (outcome: 'admitted' | 'refused') => void;
}

/** Says whom nats-server lets in beside those that its configuration names, until it is disposed of. */
export function serveAdmission(options: AdmissionOptions): AsyncDisposable {
  let working = 0;
  const decide = async (message: Msg): Promise<void> => {
    // An empty answer is a refusal.
    const refuse = (): void => {
      options.onDecided?.('refused');
      message.respond('');
    };
    if (working >= MAX_AT_ONCE || message.data.length > MAX_REQUEST_BYTES) return refuse();
    working += 1;
    try {
      const answer = await answerTo(message, options);
      if (answer === null) return refuse();
      options.onDecided?.('admitted');
      message.respond(answer);
    } finally {
      working -= 1;
    }
  };
  const listen = (): Subscription =>
    options.nats.subscribe(ADMISSION_SUBJECT, {
      queue: options.queue,
      callback: (error, message) => {
        if (error) options.logger.error('subscriber.admission_not_served', { reason: error.message });
        else void decide(message);
      },
    });
  let subscription = listen();
  // A server of before this right refuses it, which ends a subscription for good. After it was restarted it may not.
  const unwatch = connectionState(options.nats).onChange((connected) => {
    if (connected && subscription.isClosed()) subscription = listen();
  });
  return {
    [Symbol.asyncDispose]: async () => {
      unwatch();
      if (!options.nats.isClosed()) await subscription.drain().catch(() => undefined);
    },
  };
}

async function answerTo(
  message: Msg,
  { issuer, known, logger, connectionSeconds = CONNECTION_SECONDS }: AdmissionOptions,
): Promise<string | null> {
  try {
    const read = readAdmission(message.string(), known);
    return read && (await admit(issuer, read.asked, read.admitted, connectionSeconds));
  } catch (error) {
    logger.warn('subscriber.admission_failed', { reason: messageOf(error) });
    return null;
  }
}

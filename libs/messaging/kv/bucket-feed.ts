import { FairleadError } from '@fairlead/errors';
import { AckPolicy, DeliverPolicy, jetstreamManager } from '@nats-io/jetstream';
import { createInbox, deferred, nanos, nuid, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { connectionState } from '../connection/connection-state.js';

const HEARTBEAT_MS = 2_000;
const SILENCE_MS = 3 * HEARTBEAT_MS;
const API_TIMEOUT_MS = 5_000;
/**
 * What processes ask the streams' account by, in place of `$JS.API`: nats-server answers that in each account, for its own streams.
 */
export const STREAMS_API = 'fairlead.streams';
/** An abandoned consumer is removed by the server after this, so that nobody needs the right to delete consumers. */
const INACTIVE_MS = 30_000;

export interface FeedEvents {
  /** The value of a key, null if it was deleted. */
  onEntry(key: string, value: Uint8Array | null): void;
  /** All of the bucket was delivered. Once. */
  onLoaded(): void;
  /** Nothing is outstanding at this moment. */
  onSynced(): void;
}

/**
 * Delivers a bucket from its beginning and then each change, on a push consumer of its own. Never resolves: it rejects
 * when the feed is broken (gap, silence, lost connection, no bucket) or with the signal's reason; the caller begins anew.
 * Protocol: NATS ADR-8 (key-value) and ADR-15 (ordered consumers).
 */
export async function followBucket(
  nc: NatsConnection,
  bucket: string,
  events: FeedEvents,
  options: { readonly signal: AbortSignal; readonly keys: string; readonly inboxPrefix?: string | undefined },
): Promise<never> {
  const broken = deferred<never>();
  const deliverSubject = createInbox(options.inboxPrefix);
  const fail = (reason: string): void => broken.reject(new FairleadError('UNAVAILABLE', reason));
  const feed = new Feed(bucket, deliverSubject, events, fail);
  const subscription = nc.subscribe(deliverSubject, {
    callback: (error, message) => (error ? broken.reject(error) : feed.receive(message)),
  });
  const unwatch = connectionState(nc).onChange(() =>
    broken.reject(new FairleadError('UNAVAILABLE', 'connection lost')),
  );
  const onAbort = (): void => broken.reject(options.signal.reason as Error);
  options.signal.addEventListener('abort', onAbort, { once: true });
  const silence = setInterval(() => feed.checkSilence(), HEARTBEAT_MS);
  try {
    options.signal.throwIfAborted();
    feed.begun(await Promise.race([broken, createConsumer(nc, bucket, options.keys, deliverSubject)]));
    return await broken;
  } finally {
    clearInterval(silence);
    options.signal.removeEventListener('abort', onAbort);
    unwatch();
    if (!nc.isClosed()) subscription.unsubscribe();
    // After the race is lost nobody else looks at this promise.
    broken.catch(() => undefined);
  }
}

/** Returns the number of entries that will be delivered first. */
async function createConsumer(
  nc: NatsConnection,
  bucket: string,
  keys: string,
  deliverSubject: string,
): Promise<number> {
  const manager = await jetstreamManager(nc, { apiPrefix: STREAMS_API, checkAPI: false, timeout: API_TIMEOUT_MS });
  const info = await manager.consumers.add(streamOf(bucket), {
    name: nuid.next(),
    filter_subject: `$KV.${bucket}.${keys}`,
    deliver_subject: deliverSubject,
    deliver_policy: DeliverPolicy.LastPerSubject,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    num_replicas: 1,
    flow_control: true,
    idle_heartbeat: nanos(HEARTBEAT_MS),
    inactive_threshold: nanos(INACTIVE_MS),
  });
  return info.num_pending;
}

/** One consumer's life: counts what arrives and tells when it is whole. */
class Feed {
  readonly #stream: string;
  readonly #prefix: string;
  readonly #fail: (reason: string) => void;
  #delivered = 0;
  #loaded = false;
  #lastHeardMs = performance.now();

  constructor(
    bucket: string,
    private readonly inbox: string,
    private readonly events: FeedEvents,
    fail: (reason: string) => void,
  ) {
    this.#stream = streamOf(bucket);
    this.#prefix = `$KV.${bucket}.`;
    this.#fail = fail;
  }

  begun(pending: number): void {
    this.#lastHeardMs = performance.now();
    if (pending === 0) this.#synced();
  }

  receive(message: Msg): void {
    this.#lastHeardMs = performance.now();
    // A status comes on the inbox's subject, an entry on its own: the writer of an entry may give it the header of a status.
    if (message.subject === this.inbox && message.headers?.code === 100) this.#receiveStatus(message);
    else this.#receiveEntry(message);
  }

  checkSilence(): void {
    if (performance.now() - this.#lastHeardMs > SILENCE_MS) this.#fail('the bucket fell silent');
  }

  #receiveEntry(message: Msg): void {
    const position = parsePosition(message.reply ?? '');
    // Whoever learned the inbox could have another stream delivered to it.
    if (position?.stream !== this.#stream || !message.subject.startsWith(this.#prefix)) {
      this.#fail('an entry of something else was delivered');
      return;
    }
    if (position.delivered !== this.#delivered + 1) {
      this.#fail('an entry was missed');
      return;
    }
    this.#delivered = position.delivered;
    this.events.onEntry(message.subject.slice(this.#prefix.length), isDeletion(message) ? null : message.data);
    if (position.pending === 0) this.#synced();
  }

  /** Heartbeats prove that nothing was missed; flow control asks for an answer once everything before it was taken. */
  #receiveStatus(message: Msg): void {
    if (message.reply) {
      message.respond();
      return;
    }
    const last = message.headers?.get('Nats-Last-Consumer') ?? '';
    if (last !== '' && Number(last) !== this.#delivered) this.#fail('an entry was missed');
    else this.#synced();
  }

  #synced(): void {
    if (!this.#loaded) {
      this.#loaded = true;
      this.events.onLoaded();
    }
    this.events.onSynced();
  }
}

/** NATS ADR-8: what a client writes to delete a key. ADR-48: what the server leaves where a key's time has run out. */
const DELETIONS: ReadonlySet<string> = new Set(['DEL', 'PURGE']);

/** Only what says so deletes a key; an entry that merely cannot be read does not. */
function isDeletion({ headers }: Msg): boolean {
  return DELETIONS.has(headers?.get('KV-Operation') ?? '') || (headers?.get('Nats-Marker-Reason') ?? '') !== '';
}

function streamOf(bucket: string): string {
  return `KV_${bucket}`;
}

/** `$JS.ACK.<stream>.<consumer>.<times>.<stream seq>.<delivered>.<time>.<pending>`; newer servers put domain and account first. */
function parsePosition(reply: string): { stream: string; delivered: number; pending: number } | null {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || (tokens.length !== 9 && tokens.length < 11)) return null;
  const first = tokens.length === 9 ? 6 : 8;
  return { stream: tokens[first - 4]!, delivered: Number(tokens[first]), pending: Number(tokens[first + 2]) };
}

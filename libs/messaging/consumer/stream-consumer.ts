import { FairleadError } from '@fairlead/errors';
import { createInbox, nanos, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { connectionState } from '../connection/connection-state.js';
import { inboxPrefixOf } from '../connection/inbox.js';
import { STREAMS_API } from '../kv/bucket-feed.js';

/** Beyond what the server waits; then it did not get the request, or its answer was lost. */
const GRACE_MS = 2_000;

/** What a process asks by for the next messages of a consumer of the streams' account. */
export function nextMessageSubject(stream: string, consumer: string): string {
  return `${STREAMS_API}.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
}

/** A message that waits to be acknowledged. Without a word of it in time, the server hands it out again. */
export interface ConsumedMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** In the stream. */
  readonly sequence: number;
  /** 1: never handed out before. */
  readonly deliveries: number;
  /** It is done with. Where that is lost on its way, the message comes again. */
  ack(): void;
  /** It comes again, not before so long. */
  again(delayMs: number): void;
  /** It never comes again, although nobody could do anything with it. */
  end(reason: string): void;
}

export interface StreamConsumerOptions {
  readonly nats: NatsConnection;
  readonly stream: string;
  /** Its durable name, as the operator laid it out. */
  readonly consumer: string;
  /** Subjects of the stream begin so; anything else is none of its messages. */
  readonly subjects: string;
}

/** Messages of a durable pull consumer, as nobody but the service of its name may ask for them (docs/adr/0041-events-one-can-wait-for.md). */
export class StreamConsumer {
  readonly #options: StreamConsumerOptions;

  constructor(options: StreamConsumerOptions) {
    this.#options = options;
  }

  /**
   * The next messages, at most so many and so many bytes, in the order of the stream; as soon as there are any, and none after `waitMs`. It cannot be broken off: what the server
   * hands out to nobody comes again only when it should have been acknowledged, so wait for a short time. UNAVAILABLE: NATS is away, or there is no such consumer.
   */
  async next(limits: {
    readonly messages: number;
    readonly bytes: number;
    readonly waitMs: number;
  }): Promise<ConsumedMessage[]> {
    const { nats } = this.#options;
    // What is asked for while the connection is down would be asked long after nobody waits for it.
    if (!connectionState(nats).connected) throw new FairleadError('UNAVAILABLE', 'NATS is away');
    const atOnce = await this.#pull({ ...limits, noWait: true });
    if (atOnce.length > 0) return atOnce;
    const [first] = await this.#pull({ ...limits, messages: 1, noWait: false });
    return first ? [first] : [];
  }

  async #pull(asked: {
    readonly messages: number;
    readonly bytes: number;
    readonly waitMs: number;
    readonly noWait: boolean;
  }): Promise<ConsumedMessage[]> {
    const { nats, stream, consumer } = this.#options;
    const inbox = createInbox(inboxPrefixOf(nats));
    const pulling = new Pull(this.#options, inbox, asked.messages);
    const subscription = nats.subscribe(inbox, {
      callback: (error, message) => (error ? pulling.fail(error) : pulling.receive(message)),
    });
    const unwatch = connectionState(nats).onChange(() =>
      pulling.fail(new FairleadError('UNAVAILABLE', 'connection lost')),
    );
    const timer = setTimeout(() => pulling.silent(), asked.waitMs + GRACE_MS);
    try {
      const how = asked.noWait ? { no_wait: true } : { expires: nanos(asked.waitMs) };
      const request = JSON.stringify({ batch: asked.messages, max_bytes: asked.bytes, ...how });
      nats.publish(nextMessageSubject(stream, consumer), request, { reply: inbox });
      return await pulling.done;
    } finally {
      clearTimeout(timer);
      unwatch();
      if (!nats.isClosed()) subscription.unsubscribe();
    }
  }
}

/** NATS ADR-13: a status ends a request for messages; 404: there is none, 408: its time is up, 409: what was asked for would be too much. */
const ENDS: ReadonlySet<number> = new Set([404, 408, 409]);

/** One request, and what came of it. */
class Pull {
  readonly #settled = Promise.withResolvers<ConsumedMessage[]>();
  readonly #messages: ConsumedMessage[] = [];
  #heard = false;

  constructor(
    private readonly options: StreamConsumerOptions,
    private readonly inbox: string,
    private readonly wanted: number,
  ) {}

  get done(): Promise<ConsumedMessage[]> {
    return this.#settled.promise;
  }

  receive(message: Msg): void {
    this.#heard = true;
    // A status comes on the inbox's subject, a message on its own: its writer may give it the header of a status.
    if (message.subject === this.inbox) this.#receiveStatus(message);
    else this.#receiveMessage(message);
  }

  /** What came so far is kept: it has to be acknowledged, or it comes again. */
  end(): void {
    this.#settled.resolve(this.#messages);
  }

  fail(error: unknown): void {
    if (this.#messages.length > 0) this.end();
    else this.#settled.reject(error);
  }

  silent(): void {
    if (this.#heard) this.end();
    else this.fail(new FairleadError('UNAVAILABLE', `no answer from the consumer of ${this.options.stream}`));
  }

  #receiveStatus({ headers }: Msg): void {
    const code = headers?.code ?? 0;
    if (code === 503) this.fail(new FairleadError('UNAVAILABLE', `there is no consumer of ${this.options.stream} yet`));
    else if (ENDS.has(code)) this.end();
  }

  #receiveMessage(message: Msg): void {
    const { nats, stream, consumer, subjects } = this.options;
    const position = parsePosition(message.reply ?? '');
    // Whoever learned the inbox could have another stream delivered to it.
    if (position?.stream !== stream || position.consumer !== consumer || !message.subject.startsWith(subjects)) {
      this.fail(new FairleadError('UNAVAILABLE', `a message of something else than ${stream} was delivered`));
      return;
    }
    const reply = message.reply!;
    const { subject, data } = message;
    this.#messages.push({
      subject,
      data,
      sequence: position.sequence,
      deliveries: position.deliveries,
      ack: () => nats.publish(reply, '+ACK'),
      again: (delayMs) => nats.publish(reply, `-NAK {"delay": ${nanos(delayMs)}}`),
      end: (reason) => nats.publish(reply, `+TERM ${reason.replaceAll(/\s+/g, ' ').slice(0, 200)}`),
    });
    if (this.#messages.length >= this.wanted) this.end();
  }
}

/** `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>`; newer servers put domain and account first. */
function parsePosition(
  reply: string,
): { stream: string; consumer: string; deliveries: number; sequence: number } | null {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || (tokens.length !== 9 && tokens.length < 11)) return null;
  const first = tokens.length === 9 ? 2 : 4;
  const [stream, consumer, deliveries, sequence] = tokens.slice(first);
  return { stream: stream!, consumer: consumer!, deliveries: Number(deliveries), sequence: Number(sequence) };
}

import { isDeepStrictEqual } from 'node:util';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { AgentPod, Facts } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Http2Session, Http2Stream } from '@fairlead/http2';
import { TokenBucket, type Rate, type RateLimitedLog } from '@fairlead/limits';
import { ControlRequestSchema, ControlResponseSchema, type Hello } from '@fairlead/proto';
import { GrpcMessageReader, encodeGrpcMessage, type HeldBytes } from '@fairlead/rpc';
import { LIMITS } from '@fairlead/tunnel/core';
import type { AgentSession, ControlMessage, ControlOutbox } from '@fairlead/tunnel/gateway';
import { acceptGrpcStream, failGrpcStream } from '@fairlead/tunnel/link';
import { admitLink, welcome, type AdmitOptions } from './admit-link.js';
import type { GatewayEvents } from '../reporting/gateway-events.js';
import type { OnReport } from '../gitops/report-forwarder.js';
import type { OnTrustHeld } from '../trust/trust-report.js';
import { readFacts, readPod } from './read-facts.js';
import { peerOf } from './link-peer.js';

export interface ControlOptions extends AdmitOptions {
  readonly events: GatewayEvents;
  readonly onTrustHeld: OnTrustHeld;
  readonly onReport: OnReport;
  readonly onFacts: OnFacts;
  readonly refusedLines: RateLimitedLog;
}

/** What the link server hears from agents of their clusters. */
export type OnFacts = (session: AgentSession, facts: Facts) => void;

const HELLO_TIMEOUT_MS = 10_000;
/** Of Hello, which anybody may send: an honest one has a few hundred bytes. */
const MAX_HELLO_BYTES = 8 * 1024;
const MAX_MESSAGE_BYTES = 128 * 1024;
/** Of one link. An honest agent says a handful in its whole life; each costs time that all links of the replica share. */
const MESSAGES: Rate = { burst: 100, perSecond: 1 };
/** Of one link: each is written to the bucket of routes, and read by every replica. It changes when a Deployment is scaled. */
const POD_CHANGES: Rate = { burst: 3, perSecond: 1 / 60 };

/**
 * Serves the Control call of one link, for the link's whole life. Not by ConnectRPC: its machinery for streams costs
 * 35 KB for each link that stands, and half of an idle link's memory would be that. `hello`: counts what comes before Hello is there.
 */
export function serveControl(
  options: ControlOptions,
  http2: Http2Session,
  stream: Http2Stream,
  hello: HeldBytes,
): void {
  new ControlCall(options, http2, stream, hello).begin();
}

class ControlCall implements ControlOutbox {
  readonly #options: ControlOptions;
  readonly #http2: Http2Session;
  readonly #stream: Http2Stream;
  readonly #reader = new GrpcMessageReader(MAX_HELLO_BYTES);
  readonly #messages = new TokenBucket(MESSAGES, performance.now());
  readonly #pods = new TokenBucket(POD_CHANGES, performance.now());
  readonly #helloTimer: NodeJS.Timeout;
  /** What anybody may have held here: until Hello has come, it is part of what all calls of the session may hold. */
  readonly #hello: HeldBytes;
  #session: AgentSession | null = null;
  #over = false;
  #tunnelsToAskFor = 0;
  /** A question is to be asked at the end of this turn, or when the agent reads again. */
  #asking = false;
  /** Not told yet, as the agent does not read what it was told before; one of a kind. */
  #untold: readonly ControlMessage[] = [];
  #telling = false;

  constructor(options: ControlOptions, http2: Http2Session, stream: Http2Stream, hello: HeldBytes) {
    this.#options = options;
    this.#http2 = http2;
    this.#stream = stream;
    this.#hello = hello;
    const onLate = (): void => this.#refuse(new FairleadError('DEADLINE_EXCEEDED', 'no Hello came in time'));
    this.#helloTimer = setTimeout(onLate, HELLO_TIMEOUT_MS).unref();
  }

  begin(): void {
    const stream = this.#stream;
    // RFC 9110, section 6.6.1: by it an agent notices that its clock is off, before certificates tell it.
    acceptGrpcStream(stream, [['date', new Date().toUTCString()]]);
    stream.attach({
      onData: (chunk) => this.#onData(chunk),
      onDrain: () => {
        this.#ask();
        this.#tell();
      },
      onEnd: () => {
        if (this.#session) this.#end();
        else this.#refuse(new FairleadError('PROTOCOL_ERROR', 'the first message must be Hello'));
      },
      onClose: () => this.#end(),
    });
  }

  say(message: ControlMessage): void {
    this.#write(message);
  }

  askForTunnels(count: number): void {
    this.#tunnelsToAskFor = Math.min(this.#tunnelsToAskFor + count, LIMITS.waitingOpens);
    if (this.#asking) return;
    this.#asking = true;
    queueMicrotask(() => this.#ask());
  }

  tell(message: ControlMessage): void {
    if (!this.#session) return;
    this.#untold = [...this.#untold.filter((other) => other.case !== message.case), message];
    if (!this.#telling) this.#tell();
  }

  #tell(): void {
    const messages = this.#untold;
    this.#untold = [];
    this.#telling = false;
    for (const message of messages) this.#telling = !this.#write(message);
  }

  #ask(): void {
    const count = this.#tunnelsToAskFor;
    this.#tunnelsToAskFor = 0;
    this.#asking = false;
    if (count === 0) return;
    // While the agent does not read, what is to be asked adds up to one question.
    this.#asking = !this.#write({ case: 'openTunnels', value: { $typeName: 'fairlead.link.v1.OpenTunnels', count } });
  }

  /** False while the agent does not read. */
  #write(message: ControlMessage): boolean {
    const bytes = toBinary(ControlResponseSchema, create(ControlResponseSchema, { message }));
    return this.#stream.write(encodeGrpcMessage(bytes));
  }

  #onData(chunk: Buffer): void {
    this.#stream.taken(chunk.length);
    if (this.#over) return;
    try {
      if (!this.#session && !this.#hello.mayHold(chunk.length)) throw heldTooMuch();
      for (const bytes of this.#reader.push(chunk)) {
        // Before it is parsed, which is what costs.
        if (!this.#messages.take(performance.now())) throw tooMany();
        this.#onMessage(parse(bytes));
      }
    } catch (error) {
      this.#refuse(toFairleadError(error));
    }
  }

  /** Hello first; a second one breaks the protocol and ends the link. */
  #onMessage({ message }: ReturnType<typeof parse>): void {
    if (this.#over) return;
    if (this.#session) {
      if (message.case === 'hello') this.#end();
      if (message.case === 'report') this.#options.onReport(this.#session, message.value.json);
      if (message.case === 'trustHeld') this.#options.onTrustHeld(this.#session, message.value.version);
      if (message.case === 'facts') {
        this.#hearPod(this.#session, readPod(message.value));
        this.#options.onFacts(this.#session, readFacts(message.value));
      }
      if (message.case === 'leave') this.#options.registry.leave(this.#session);
    } else if (message.case === 'hello') {
      this.#admit(message.value);
    } else {
      throw new FairleadError('PROTOCOL_ERROR', 'the first message must be Hello');
    }
  }

  #hearPod(session: AgentSession, pod: AgentPod | null): void {
    if (isDeepStrictEqual(session.pod, pod) || !this.#pods.take(performance.now())) return;
    this.#options.registry.setPod(session, pod);
  }

  #admit(hello: Hello): void {
    clearTimeout(this.#helloTimer);
    this.#session = admitLink(this.#options, hello, this.#http2, this);
    this.#hello.giveBack();
    this.#reader.maxBytes = MAX_MESSAGE_BYTES;
    this.say({ case: 'welcome', value: welcome(this.#options, this.#session, hello) });
    if (hello.facts) this.#options.onFacts(this.#session, readFacts(hello.facts));
  }

  #refuse(failure: FairleadError): void {
    if (this.#over) return;
    const { logger, events, refusedLines } = this.#options;
    const { code, message: reason } = failure;
    const peer = peerOf(this.#http2);
    const { address } = peer;
    const cluster = peer.kind === 'agent' ? { clusterId: peer.clusterId } : {};
    const line = refusedLines.next({ address, ...cluster });
    if (line) logger.warn('agent.link.refused', { code, reason, address, ...line });
    events.accessRefused({ code, reason, address, door: 'link', ...cluster });
    failGrpcStream(this.#stream, failure);
    this.#end();
  }

  /** The call is over, whichever way: so is its link. */
  #end(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#helloTimer);
    if (this.#session) this.#options.registry.remove(this.#session);
    else this.#stream.end();
  }
}

function tooMany(): FairleadError {
  return new FairleadError('PROTOCOL_ERROR', 'the peer says more on its Control call than any agent has to say');
}

function heldTooMuch(): FairleadError {
  return new FairleadError('RATE_LIMITED', 'the calls of this connection hold too much that has only begun');
}

function parse(bytes: Buffer) {
  try {
    return fromBinary(ControlRequestSchema, bytes);
  } catch (error) {
    throw new FairleadError('PROTOCOL_ERROR', 'the peer sent a message that is not protobuf', { cause: error });
  }
}

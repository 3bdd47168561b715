import type { CallOptions } from '@connectrpc/connect';
import { startDeadline } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import type { Http2Stream } from '@fairlead/http2';
import type { Logger } from '@fairlead/observability';
import type {
  ControlResponse,
  Crowd,
  FetchBundleResponse,
  Hello,
  SignedRevocations,
  Tcp,
  Welcome,
} from '@fairlead/proto';
import { LIMITS, PROTOCOL_VERSIONS } from '../core/index.js';
import { TunnelConnection, fromConnectError } from '../link/index.js';
import { ControlSender } from './control-sender.js';
import { takeLatest } from './take-latest.js';
import {
  wireFacts,
  type AgentFacts,
  type DesiredStateEnd,
  type GatewayConnection,
  type RevocationsEnd,
  type TrustEnd,
} from './ports.js';
import { acceptTunnel, type AcceptorOptions } from './tunnel-acceptor.js';

export interface LinkOptions extends AcceptorOptions {
  readonly connection: GatewayConnection;
  readonly agentInstance: string;
  /** Which of this process's links, from 0. */
  readonly slot: number;
  readonly facts: AgentFacts;
  readonly trust: TrustEnd;
  /** Absent: nobody here wants to know. */
  readonly desired?: DesiredStateEnd | undefined;
  /** Absent: nobody here serves by statements. */
  readonly revocations?: RevocationsEnd | undefined;
  /** A stop does not wait for a Welcome that does not come. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Called when the gateway said what time it is there, in milliseconds since the epoch. */
  readonly onGatewayTime?: (gatewayMs: number) => void;
  /** Called when the gateway said how many replicas there are. */
  readonly onReplicas?: (replicas: number) => void;
}

const WELCOME_TIMEOUT_MS = 15_000;
/** Tunnels kept ready while nothing happens. */
const SPARE_TUNNELS = 1;

/** One established link: a Control call, and parked tunnels that refill themselves. */
export class Link {
  readonly welcome: Welcome;
  /** Resolves with the cause when the link is over, whatever ended it. */
  readonly ended: Promise<FairleadError>;
  readonly #options: LinkOptions;
  readonly #sender: ControlSender;
  #parked = 0;
  #inUse = 0;
  #crowd: number;
  #draining = false;
  #facts: AgentFacts;
  readonly #onDrain: (deadlineMs: number) => void;
  readonly #takeRevocations: (list: SignedRevocations) => void;
  #leaving = false;

  private constructor(
    options: LinkOptions,
    sender: ControlSender,
    welcome: Welcome,
    messages: AsyncIterator<ControlResponse>,
    onDrain: (deadlineMs: number) => void,
  ) {
    this.#options = options;
    this.#sender = sender;
    this.#onDrain = onDrain;
    this.#takeRevocations = takeLatest(async (list) => options.revocations?.take(list));
    this.welcome = welcome;
    this.#crowd = welcome.links;
    options.onReplicas?.(welcome.replicas);
    this.#facts = options.facts;
    this.ended = this.#follow(messages);
  }

  /** Says Hello and waits for Welcome. Rejects with the gateway's refusal, or UNAVAILABLE. */
  static async establish(options: LinkOptions, onDrain: (deadlineMs: number) => void): Promise<Link> {
    const { http2, rpc } = options.connection;
    const over = new Promise<void>((resolve) => http2.once('close', () => resolve()));
    const sender = new ControlSender(helloOf(options), options.trust, over);
    const onHeader = (headers: Headers): void => readDate(headers, options);
    const messages = rpc.control(sender.messages(), { onHeader })[Symbol.asyncIterator]();
    const late = (): Error => new FairleadError('DEADLINE_EXCEEDED', 'no Welcome came in time');
    const deadline = startDeadline(options.signal, WELCOME_TIMEOUT_MS, late);
    const onOver = (): void => http2.destroy();
    if (deadline.signal.aborted) onOver();
    else deadline.signal.addEventListener('abort', onOver, { once: true });
    try {
      const first = await messages.next();
      const message = first.done ? undefined : first.value.message;
      if (message?.case !== 'welcome')
        throw new FairleadError('PROTOCOL_ERROR', 'the gateway did not begin with Welcome');
      assertVersion(message.value);
      return new Link(options, sender, message.value, messages, onDrain);
    } catch (error) {
      throw fromConnectError(error);
    } finally {
      deadline.clear();
    }
  }

  get inUse(): number {
    return this.#inUse;
  }

  get parked(): number {
    return this.#parked;
  }

  /** Links that its replica holds, as it said last; 0 if it never did. */
  get crowd(): number {
    return this.#crowd;
  }

  /** Tells the gateway what the cluster's installer says; one that is not sent yet gives way. */
  report(json: Uint8Array): void {
    this.#sender.report(json);
  }

  /** A call on the link's own connection. Rejects as ConnectRPC does. */
  fetchBundle(request: { digest: string; offset: number }, options: CallOptions): Promise<FetchBundleResponse> {
    return this.#options.connection.rpc.fetchBundle(request, options);
  }

  /** Parks the first tunnels: from now on the gateway may use this link. */
  begin(): void {
    this.#refill(SPARE_TUNNELS);
  }

  /** Tells the gateway that this process ends, or that another link takes the place of this one: from now on no tunnel begins here, and those that run may end. */
  leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#sender.leave();
  }

  /** Says what is known of the cluster now, unless that was said on this link already. */
  tellFacts(facts: AgentFacts): void {
    if (facts === this.#facts) return;
    this.#facts = facts;
    this.#sender.tellFacts(wireFacts(facts));
  }

  /** Does its replica open targets on its side, and is there room for one more? */
  get takesEgress(): boolean {
    return this.welcome.egress && this.#usable && this.#parked + this.#inUse < LIMITS.tunnelsPerLink;
  }

  /**
   * A tunnel to a target on the gateway's side. Rejects as `TunnelConnection.open` does, with DEADLINE_EXCEEDED if no answer
   * comes in time, or with UNAVAILABLE if the link takes no more.
   */
  async openEgress(target: Tcp, tunnelId: string, traceparent: string, signal: AbortSignal): Promise<TunnelConnection> {
    const { connection: gateway, clusterId, generation } = this.#options;
    const late = (): Error => new FairleadError('DEADLINE_EXCEEDED', 'the gateway did not answer in time');
    const deadline = startDeadline(signal, LIMITS.openTimeoutMs + LIMITS.dialTimeoutMs, late);
    try {
      const tunnel = new TunnelConnection(
        begin(() => gateway.egress()),
        'opener',
      );
      this.#inUse += 1;
      tunnel.once('close', () => (this.#inUse -= 1));
      const asked = { tunnelId, tenantId: '', clusterId, generation, traceparent };
      await tunnel.open(
        { $typeName: 'fairlead.link.v1.Open', ...asked, target: { case: 'tcp', value: target } },
        deadline.signal,
      );
      return tunnel;
    } finally {
      deadline.clear();
    }
  }

  close(): void {
    this.#options.connection.http2.destroy();
  }

  async #follow(messages: AsyncIterator<ControlResponse>): Promise<FairleadError> {
    try {
      for (;;) {
        const next = await messages.next();
        if (next.done) return new FairleadError('UNAVAILABLE', 'the gateway ended the link');
        this.#obey(next.value);
      }
    } catch (error) {
      return fromConnectError(error);
    } finally {
      this.close();
    }
  }

  #obey({ message }: ControlResponse): void {
    if (message.case === 'openTunnels') this.#refill(this.#parked + Math.min(message.value.count, LIMITS.waitingOpens));
    if (message.case === 'crowd') this.#hear(message.value);
    if (message.case === 'trust') this.#sender.take(message.value);
    if (message.case === 'desiredState') this.#options.desired?.take(message.value);
    if (message.case === 'revocations') this.#takeRevocations(message.value);
    if (message.case === 'drain') {
      this.#draining = true;
      this.#onDrain(message.value.deadlineMs);
    }
  }

  #hear({ links, replicas }: Crowd): void {
    this.#crowd = links;
    this.#options.onReplicas?.(replicas);
  }

  #refill(desired: number): void {
    while (this.#parked < desired && this.#parked + this.#inUse < LIMITS.tunnelsPerLink && this.#usable) this.#park();
  }

  get #usable(): boolean {
    const { http2 } = this.#options.connection;
    return !this.#draining && !this.#leaving && !http2.destroyed && !http2.closed;
  }

  #park(): void {
    this.#parked += 1;
    const options = { ...this.#options, leaving: () => this.#leaving };
    const tunnel = acceptTunnel(this.#options.connection.tunnel(), options, (opened) => {
      this.#parked -= 1;
      // A tunnel that ended while parked is replaced when the gateway asks, not at once: a gateway that refuses tunnels
      // must not be answered with a storm of them.
      if (!opened) return;
      this.#inUse += 1;
      tunnel.once('close', () => (this.#inUse -= 1));
      this.#refill(SPARE_TUNNELS);
    });
  }
}

/** A session that is closing, or has no stream left, says so by an error of HTTP/2. */
function begin(request: () => Http2Stream): Http2Stream {
  try {
    return request();
  } catch (cause) {
    throw new FairleadError('UNAVAILABLE', 'the link takes no more tunnels now', { cause });
  }
}

/** Older gateways do not say it. */
function readDate(headers: Headers, { onGatewayTime }: LinkOptions): void {
  const gatewayMs = Date.parse(headers.get('date') ?? '');
  if (!Number.isNaN(gatewayMs)) onGatewayTime?.(gatewayMs);
}

/** A gateway that chose a version which Hello did not offer would misread what comes next. */
function assertVersion({ protocolVersion }: Welcome): void {
  const { oldest, newest } = PROTOCOL_VERSIONS;
  if (protocolVersion >= oldest && protocolVersion <= newest) return;
  throw new FairleadError(
    'PROTOCOL_ERROR',
    `the gateway chose protocol ${protocolVersion}, and this agent speaks ${oldest} to ${newest}`,
  );
}

function helloOf({ agentInstance, clusterId, slot, facts, trust, desired, revocations }: LinkOptions): Hello {
  return {
    $typeName: 'fairlead.link.v1.Hello',
    agentInstance,
    clusterId,
    link: slot,
    protocolVersion: PROTOCOL_VERSIONS.newest,
    oldestProtocolVersion: PROTOCOL_VERSIONS.oldest,
    maxTunnels: LIMITS.tunnelsPerLink,
    facts: wireFacts(facts),
    trustVersion: trust.version,
    desiredRevision: BigInt(desired?.revision ?? 0),
    revocationsNumber: BigInt(revocations?.number ?? 0),
  };
}

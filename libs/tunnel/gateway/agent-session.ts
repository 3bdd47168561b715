import type { AgentPod } from '@fairlead/contracts';
import type { Http2Session, Http2Stream } from '@fairlead/http2';
import type { ControlResponse } from '@fairlead/proto';
import { ParkedTunnels } from './parked-tunnels.js';

/** How long a link that may be a leftover has to answer a ping. */
const ANSWER_TIMEOUT_MS = 2_000;

export interface SessionFacts {
  readonly sessionId: string;
  readonly tenantId: string;
  readonly clusterId: string;
  readonly generation: number;
  readonly agentInstance: string;
  /** As it says; empty if it does not. */
  readonly agentVersion?: string;
  /** Which of that process's links. */
  readonly link: number;
  readonly remoteAddress: string;
  readonly connectedAtMs: number;
}

export type ControlMessage = Exclude<ControlResponse['message'], { case: undefined }>;

/** The gateway's side of a link's Control call. */
export interface ControlOutbox {
  /** Only what is said a fixed number of times in a link's life: it waits for an agent that does not read. */
  say(message: ControlMessage): void;
  /** Asks the agent to park more tunnels. Questions that are not sent yet become one. */
  askForTunnels(count: number): void;
  /** Says what is so now. Of each kind, what is not sent yet gives way to what is newer; nothing is told before Welcome. */
  tell(message: ControlMessage): void;
}

/** One agent's link to this replica: its parked tunnels, and what is to be said to it. */
export class AgentSession {
  readonly facts: SessionFacts;
  /** The connection this link is. */
  readonly http2: Http2Session;
  /** Version of the trust bundle that the agent said last it holds; 0: none. */
  trustVersion: number;
  /** Of the desired state that the agent said it has, or was told last on this link; 0: none. */
  desiredRevision = 0;
  /** Of the list of revoked access statements that the agent goes by, as it said, or as it was told last on this link; 0: none. */
  revocationsNumber = 0;
  /** Where the agent says that it runs; null: it does not say. */
  pod: AgentPod | null = null;
  readonly #control: ControlOutbox;
  readonly #parked: ParkedTunnels;
  #egress = 0;
  #leaving = false;
  #begun = false;
  #closed = false;

  constructor(facts: SessionFacts, http2: Http2Session, control: ControlOutbox, trustVersion = 0) {
    this.facts = facts;
    this.trustVersion = trustVersion;
    this.http2 = http2;
    this.#control = control;
    this.#parked = new ParkedTunnels((count) => control.askForTunnels(count));
    http2.once('close', () => this.close());
  }

  get inFlight(): number {
    return this.#parked.inUse + this.#egress;
  }

  get parked(): number {
    return this.#parked.size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The agent said that it ends soon, or that it has a better link. */
  get leaving(): boolean {
    return this.#leaving;
  }

  /** Nobody waits for a tunnel of this link from now on; those in use go on. */
  leave(): void {
    this.#leaving = true;
    this.#parked.drain();
  }

  /** The agent has parked tunnels here. Until then it may still leave the link for one that it has to this replica already. */
  get begun(): boolean {
    return this.#begun;
  }

  /** A Tunnel call of this agent arrived: it is kept for an Open, or refused. */
  park(stream: Http2Stream): void {
    this.#begun = true;
    this.#parked.park(stream);
  }

  /** Something goes out of the cluster on this link until the result is called, once. */
  countEgress(): () => void {
    this.#egress += 1;
    return () => void (this.#egress -= 1);
  }

  /** A tunnel for one Open; rejects as `ParkedTunnels.take` does. */
  take(signal: AbortSignal): Promise<Http2Stream> {
    return this.#parked.take(signal);
  }

  /** Tells the agent to link elsewhere, within this time. */
  drain(deadlineMs: number): void {
    this.#parked.drain();
    this.#control.say({ case: 'drain', value: { $typeName: 'fairlead.link.v1.Drain', deadlineMs } });
  }

  /** Tells the agent what is so now, as `ControlOutbox.tell` does. */
  tell(message: ControlMessage): void {
    this.#control.tell(message);
  }

  /** Ends the session soon, unless its peer answers a ping. */
  endUnlessAnswering(): void {
    const timer = setTimeout(() => this.close(), ANSWER_TIMEOUT_MS);
    timer.unref();
    const keepIfAnswered = async (): Promise<void> => {
      if ((await this.http2.ping()) !== null) clearTimeout(timer);
    };
    void keepIfAnswered();
  }

  /** Ends the session and its HTTP/2 connection, with every tunnel on it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#parked.close();
    this.http2.destroy();
  }
}

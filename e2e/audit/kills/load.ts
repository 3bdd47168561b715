import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@fairlead/testing';
import { z } from 'zod';

/** What is asked for, and by whom. */
export interface Asking {
  /** Kubernetes API doors, of which each has half of the workers. */
  readonly doors: readonly string[];
  readonly caPem: string;
  readonly token: string;
  /** ConfigMaps to read and to write, one for each worker: path at a door. */
  readonly objects: readonly string[];
}

export interface LoadOptions {
  readonly asking: Asking;
  /** Where it says what it did, as `fairlead audit reconcile` reads it. */
  readonly file: string;
  /** It goes on until it has made so many, and `end` was called. */
  readonly requests: number;
  readonly perSecond: number | undefined;
}

/** What a load did, all told. */
export interface Done {
  readonly requests: number;
  readonly noAnswer: number;
  readonly writes: number;
  /** By a gateway, before anything went on: by code. */
  readonly refused: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** One in so many is a write. */
const WRITE_EACH = 3;
const ANSWER_WITHIN_MS = 30_000;
/** Whoever got no answer asks again after a while, not at once. */
const PAUSE_MS = 100;

/** Clients that ask one thing after the other and say in a file what became of each. */
export class Load implements AsyncDisposable {
  readonly #options: LoadOptions;
  readonly #file: WriteStream;
  readonly #workers: Promise<void>[];
  readonly #beganMs = performance.now();
  readonly #refused = new Map<string, number>();
  #readMs: number[] = [];
  #made = 0;
  #noAnswer = 0;
  #writes = 0;
  #isReleased = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#file = createWriteStream(options.file, { mode: 0o600 });
    const { doors, objects } = options.asking;
    this.#workers = objects.map((object, at) => this.#work(doors[at % doors.length] ?? '', object));
  }

  get made(): number {
    return this.#made;
  }

  /** Once it has made so many. */
  reached(requests: number, timeoutMs: number): Promise<void> {
    return eventually(
      () => {
        if (this.#made < requests) throw new Error(`only ${this.#made} of ${requests} requests were made`);
      },
      { timeoutMs, intervalMs: 50 },
    );
  }

  /** Once it has made so many more. */
  more(requests: number, timeoutMs: number): Promise<void> {
    return this.reached(this.#made + requests, timeoutMs);
  }

  /** What reads took since this was asked the last time, in milliseconds. */
  takeReadTimes(): number[] {
    const taken = this.#readMs;
    this.#readMs = [];
    return taken;
  }

  /** Lets it end once it has made what it has to. */
  async end(timeoutMs: number): Promise<Done> {
    await this.reached(this.#options.requests, timeoutMs);
    await this[Symbol.asyncDispose]();
    return {
      requests: this.#made,
      noAnswer: this.#noAnswer,
      writes: this.#writes,
      refused: Object.fromEntries(this.#refused),
      seconds: (performance.now() - this.#beganMs) / 1_000,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isReleased = true;
    await Promise.all(this.#workers);
    if (this.#file.writableFinished) return;
    this.#file.end();
    await once(this.#file, 'finish');
  }

  async #work(door: string, object: string): Promise<void> {
    const { perSecond, asking } = this.#options;
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: asking.caPem });
    const eachMs = perSecond === undefined ? 0 : (asking.objects.length * 1_000) / perSecond;
    for (let nth = 0; !this.#isReleased; nth += 1) {
      const began = performance.now();
      const wasAnswered = await this.#ask({
        agent,
        url: `${door}${object}`,
        path: object,
        isWrite: nth % WRITE_EACH === 0,
      });
      if (!wasAnswered) await sleep(PAUSE_MS);
      const restMs = eachMs - (performance.now() - began);
      if (restMs > 0) await sleep(restMs);
    }
    agent.destroy();
  }

  async #ask(asked: Asked): Promise<boolean> {
    const { isWrite, path } = asked;
    const [at, began] = [new Date().toISOString(), performance.now()];
    const { auditId, status, refusedFor } = await answerTo(asked, this.#options.asking.token);
    if (status !== null && !isWrite) this.#readMs.push(performance.now() - began);
    if (refusedFor !== null) this.#refused.set(refusedFor, (this.#refused.get(refusedFor) ?? 0) + 1);
    if (isWrite) this.#writes += 1;
    if (status === null) this.#noAnswer += 1;
    const required = isWrite && refusedFor === null;
    const line = { auditId, at, method: isWrite ? 'PATCH' : 'GET', path, status, required };
    this.#made += 1;
    if (!this.#file.write(`${JSON.stringify(line)}\n`)) await once(this.#file, 'drain');
    return status !== null;
  }
}

interface Asked {
  readonly agent: Agent;
  readonly url: string;
  readonly path: string;
  readonly isWrite: boolean;
}

interface Answered {
  readonly auditId: string | null;
  /** Null: there was none, or not all of it. */
  readonly status: number | null;
  /** Why a gateway did not let it go on; null: it did. */
  readonly refusedFor: string | null;
}

/** Never rejects: a load goes on whatever is killed. */
function answerTo({ agent, url, isWrite }: Asked, token: string): Promise<Answered> {
  const body = isWrite ? JSON.stringify({ data: { at: String(performance.now()) } }) : undefined;
  return new Promise((resolve) => {
    let auditId: string | null = null;
    const none = (): void => resolve({ auditId, status: null, refusedFor: null });
    const asking = request(url, {
      agent,
      method: isWrite ? 'PATCH' : 'GET',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/merge-patch+json', 'content-length': String(Buffer.byteLength(body)) }),
      },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    asking.once('error', none);
    asking.once('response', (answer) => {
      auditId = answer.headers['audit-id']?.toString() ?? null;
      const { statusCode: status = 0 } = answer;
      text(answer).then((said) => resolve({ auditId, status, refusedFor: refusedByGateway(status, said) }), none);
    });
    asking.end(body);
  });
}

const Refusal = z.object({
  details: z.object({ causes: z.array(z.object({ reason: z.string(), message: z.string() })) }),
});

/** The code of a gateway that refused, of the Status that it answered with. */
function refusedByGateway(status: number, body: string): string | null {
  if (status < 400) return null;
  const parsed = Refusal.safeParse(jsonOf(body));
  const cause = (reason: string): string | undefined =>
    parsed.data?.details.causes.find((each) => each.reason === reason)?.message;
  return cause('FairleadHop') === 'gateway' ? (cause('FairleadCode') ?? null) : null;
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

import type { Clock } from '@fairlead/clock';
import type { HostReach, PreflightReport } from '@fairlead/desired-state';
import { dialHost, type Seen } from './dial-host.js';
import { shownHost, type NeededHost } from './needed-hosts.js';

export interface PreflightOptions {
  /** What the installer's own network policy lets it dial: a host on another port is not tried. */
  readonly ports: readonly number[];
  /** Nodes most likely have a proxy too: a direct dial would say nothing of them. */
  readonly behindProxy: boolean;
  /** Authorities that count in place of the system's. */
  readonly caPem?: string;
  readonly limits?: PreflightLimits;
}

interface PreflightLimits {
  /** Of one host. */
  readonly deadlineMs: number;
  readonly atOnce: number;
  /** When the same hosts are looked at again: while the cluster is not healthy, and while it is though one is not reachable. */
  readonly againMs: number;
  readonly seldomMs: number;
}

export const PREFLIGHT_LIMITS: PreflightLimits = {
  deadlineMs: 5_000,
  atOnce: 4,
  againMs: 300_000,
  seldomMs: 3_600_000,
};

/** What the hosts are needed for. */
export interface Occasion {
  /** Another one is looked at at once. */
  readonly spec: string;
  readonly healthy: boolean;
}

interface Observed {
  readonly key: string;
  readonly report: PreflightReport;
  readonly atMs: number;
  /** Drawn once, so that clusters do not observe in step. */
  readonly jitter: number;
}

/** Says which hosts a spec needs and this pod does not reach. Nothing waits for it, and nothing is decided by it. */
export class Preflight {
  readonly #limits: PreflightLimits;
  readonly #dial: (target: NeededHost, signal: AbortSignal) => Promise<Seen>;
  #observed: Observed | null = null;
  #observing = false;

  constructor(
    private readonly options: PreflightOptions,
    private readonly clock: Clock,
    dial = (target: NeededHost, signal: AbortSignal): Promise<Seen> =>
      dialHost(target, { deadlineMs: this.#limits.deadlineMs, caPem: options.caPem }, signal),
  ) {
    this.#limits = options.limits ?? PREFLIGHT_LIMITS;
    this.#dial = dial;
  }

  /** What is known of these hosts; null: not yet. Where it is due an observation begins, and a later call tells what it found. */
  observe(hosts: readonly NeededHost[], occasion: Occasion, signal: AbortSignal): PreflightReport | null {
    const key = JSON.stringify([occasion.spec, hosts]);
    if (!this.#observing && hosts.length > 0 && this.#isDue(key, occasion)) void this.#observe(hosts, key, signal);
    return this.#observed?.key === key ? this.#observed.report : null;
  }

  #isDue(key: string, { healthy }: Occasion): boolean {
    const observed = this.#observed;
    if (observed?.key !== key) return true;
    if (healthy && !observed.report.hosts.some(isMissing)) return false;
    const everyMs = healthy ? this.#limits.seldomMs : this.#limits.againMs;
    return this.clock.monotonicMs() - observed.atMs >= everyMs * observed.jitter;
  }

  /** Never rejects. */
  async #observe(hosts: readonly NeededHost[], key: string, signal: AbortSignal): Promise<void> {
    this.#observing = true;
    const seen: HostReach[] = [];
    for (let at = 0; at < hosts.length; at += this.#limits.atOnce) {
      const some = hosts.slice(at, at + this.#limits.atOnce);
      seen.push(...(await Promise.all(some.map((target) => this.#reach(target, signal)))));
    }
    this.#observing = false;
    if (signal.aborted) return;
    const at = new Date(this.clock.nowMs()).toISOString();
    const jitter = 0.75 + Math.random() / 2;
    this.#observed = { key, report: { at, hosts: seen }, atMs: this.clock.monotonicMs(), jitter };
  }

  async #reach(target: NeededHost, signal: AbortSignal): Promise<HostReach> {
    const { code, message } = this.#objection(target) ?? (await this.#dial(target, signal));
    return { kind: target.kind, host: shownHost(target), code, message: message.slice(0, 256) };
  }

  /** Why a dial would say nothing of the cluster; null: it would. */
  #objection({ kind, port }: NeededHost): Seen | null {
    const { ports, behindProxy } = this.options;
    if (kind === 'registry' && behindProxy) return { code: 'NOT_TRIED', message: 'not tried: a proxy is set' };
    if (ports.includes(port)) return null;
    return { code: 'NOT_TRIED', message: `not tried: the installer's network policy is not for port ${port}` };
  }
}

function isMissing({ code }: HostReach): boolean {
  return code !== 'REACHABLE' && code !== 'NOT_TRIED';
}

import { X509Certificate } from 'node:crypto';
import { rootOf } from '@fairlead/pki';
import type { AgentIdentity } from './agent-identity.js';

/** Over which part of a certificate's life, and at most how long, renewals are spread: of the pods of one agent, and of all agents after the active root changed. */
const OF_PODS = { partOfLife: 24, mostMs: 15 * 60_000 };
const OF_ALL = { partOfLife: 96, mostMs: 15 * 60_000 };

/** When an agent's certificate is to be renewed. */
export class RenewalPlan {
  readonly #random: () => number;
  /** Of the pods of one agent one is to renew, and the others to find that it has: drawn for each certificate, so that no two pods stay close. */
  #lag: { readonly leafPem: string; readonly share: number } | null = null;
  /** The active root that the certificate is not of, and when to ask for one that is. */
  #soon: { readonly root: string; atMs: number } | null = null;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /**
   * Milliseconds since the epoch: at two thirds of its life, or a little later; and within a short time after another root than its own became
   * the active one, at a moment of this agent's own.
   */
  dueAtMs(identity: AgentIdentity, nowMs: number): number {
    const { beginMs, lifeMs } = lifeOf(identity);
    const byAgeMs = Math.max(beginMs + (lifeMs * 2) / 3 + this.#lagMs(identity, lifeMs), this.#notBeforeMs);
    const active = identity.rootsPem[0] ?? '';
    if (rootOf(identity.chainPem, identity.rootsPem) === active) {
      this.#soon = null;
      return byAgeMs;
    }
    if (this.#soon?.root !== active)
      this.#soon = { root: active, atMs: nowMs + this.#random() * spreadMs(OF_ALL, lifeMs) };
    return Math.min(byAgeMs, this.#soon.atMs);
  }

  /** It was renewed. Even if it is of another root still, or a clock is far ahead, there must be no storm of renewals. */
  renewed(identity: AgentIdentity, nowMs: number): void {
    const { lifeMs } = lifeOf(identity);
    this.#notBeforeMs = nowMs + lifeMs / 12;
    if (this.#soon) this.#soon.atMs = nowMs + (1 + this.#random()) * spreadMs(OF_ALL, lifeMs);
  }

  #lagMs({ chainPem }: AgentIdentity, lifeMs: number): number {
    const leafPem = chainPem[0] ?? '';
    if (this.#lag?.leafPem !== leafPem) this.#lag = { leafPem, share: this.#random() };
    return this.#lag.share * spreadMs(OF_PODS, lifeMs);
  }
}

/** Of its certificate. */
export function lifeOf({ chainPem }: AgentIdentity): { beginMs: number; endMs: number; lifeMs: number } {
  const { validFrom, validTo } = new X509Certificate(chainPem[0] ?? '');
  const [beginMs, endMs] = [Date.parse(validFrom), Date.parse(validTo)];
  return { beginMs, endMs, lifeMs: endMs - beginMs };
}

function spreadMs({ partOfLife, mostMs }: typeof OF_ALL, lifeMs: number): number {
  return Math.min(mostMs, lifeMs / partOfLife);
}

import { createHash } from 'node:crypto';
import type { Clock } from '@fairlead/clock';
import { NO_TENANT, accessRpc, type Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { BoundedMap } from '@fairlead/limits';
import type { Backend } from '../feature/backend.js';
import type { AddressLimiter } from './address-limiter.js';

/** A token that was revoked may work this much longer. */
const CACHE_MS = 10_000;
const MAX_CACHED = 1_000;

interface Cached {
  readonly principal: Principal;
  readonly untilMs: number;
}

/**
 * Whose token is it? Asks the access service, and remembers a yes for ten seconds; a no is never remembered. An address that
 * keeps failing has to wait with tokens that were never good, before anything is asked.
 */
export class Authenticator {
  readonly #cache = new BoundedMap<string, Cached>({ max: MAX_CACHED, overflow: 'forget-oldest' });

  constructor(
    private readonly backend: Backend,
    private readonly failures: AddressLimiter,
    private readonly clock: Pick<Clock, 'monotonicMs' | 'nowMs'>,
  ) {}

  /** UNAUTHENTICATED, RATE_LIMITED, UNAVAILABLE. */
  async authenticate(header: string | undefined, address: string): Promise<Principal> {
    try {
      const tokenHash = bearerHashOf(header);
      return this.#remembered(tokenHash) ?? (await this.#ask(tokenHash, address));
    } catch (error) {
      // Who sends no token at all has guessed nothing.
      if (header !== undefined && isUnauthenticated(error)) this.failures.take(address);
      throw error;
    }
  }

  /** Asks anew whose this token is, for one that was revoked or logged out here. Other replicas remember it for up to ten seconds. */
  forget(tokenId: string): void {
    for (const [hash, { principal }] of this.#cache) if (principal.tokenId === tokenId) this.#cache.delete(hash);
  }

  #remembered(tokenHash: string): Principal | undefined {
    const cached = this.#cache.get(tokenHash);
    return cached && cached.untilMs > this.clock.monotonicMs() ? cached.principal : undefined;
  }

  async #ask(tokenHash: string, address: string): Promise<Principal> {
    // A token that was good before is let through: behind a load balancer, all clients have one address, and whoever
    // guesses there must not lock out the others.
    if (!this.#cache.has(tokenHash)) this.failures.check(address);
    try {
      const principal = await this.backend.read(accessRpc.authenticate, NO_TENANT, { tokenHash });
      this.#remember(tokenHash, principal);
      return principal;
    } catch (error) {
      if (isUnauthenticated(error)) this.#cache.delete(tokenHash);
      throw error;
    }
  }

  #remember(tokenHash: string, principal: Principal): void {
    const { expiresAt } = principal;
    const leftMs = expiresAt === null ? Infinity : Date.parse(expiresAt) - this.clock.nowMs();
    this.#cache.set(tokenHash, { principal, untilMs: this.clock.monotonicMs() + Math.min(CACHE_MS, leftMs) });
  }
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof FairleadError && error.code === 'UNAUTHENTICATED';
}

/** SHA-256 of the bearer token, base64: the token itself goes no further than this. UNAUTHENTICATED for anything else. */
export function bearerHashOf(header: string | undefined): string {
  if (header === undefined) throw new FairleadError('UNAUTHENTICATED', 'this needs a token, and none was sent');
  const token = /^Bearer +([A-Za-z0-9._~+/-]{16,512}=*)$/i.exec(header)?.[1];
  if (token === undefined) {
    throw new FairleadError('UNAUTHENTICATED', 'the Authorization header is not of the form "Bearer <token>"');
  }
  return createHash('sha256').update(token).digest('base64');
}

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startDeadline } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import { TargetPolicy, readTargetHost, type TargetRule } from '@fairlead/targets';
import { LIMITS } from '@fairlead/tunnel/core';
import { NameLookups, type NameLookupsOptions, type Resolve } from './name-lookups.js';

export interface TcpTargetOptions {
  readonly rules: readonly TargetRule[];
  /** Default: the resolver of the system, which knows the search domains of a pod. */
  readonly resolve?: Resolve;
  /** Ends the message of a refusal: whose policy it is, and how to allow the target. */
  readonly refusedBy: string;
  /** How names are resolved where several ask for them. */
  readonly lookups?: Pick<NameLookupsOptions, 'perAsker' | 'failureMs'>;
}

/** What is asked for, as somebody untrusted spelt it. */
export interface TcpTarget {
  readonly host: string;
  readonly port: number;
}

/** Of a name with many addresses, how many are tried. */
const MAX_ADDRESSES = 8;
const TCP_KEEPALIVE_MS = 30_000;

/** Opens raw TCP targets: those that a policy allows, dialled at the very address that was checked. */
export class TcpTargets {
  readonly #policy: TargetPolicy;
  readonly #names: NameLookups;
  readonly #refusedBy: string;

  constructor({ rules, resolve, refusedBy, lookups }: TcpTargetOptions) {
    this.#policy = new TargetPolicy(rules);
    this.#refusedBy = refusedBy;
    this.#names = new NameLookups({ ...lookups, ...(resolve ? { resolve } : {}) });
  }

  /**
   * Resolves with a connected socket. `policy` counts in place of the rules, if it is given; `asker` is who wants it, where several do. Rejects
   * with INVALID_ARGUMENT, TARGET_REFUSED, TARGET_UNREACHABLE, RATE_LIMITED, DEADLINE_EXCEEDED after 10 s, or the signal's reason. Nothing is left
   * behind when it rejects.
   */
  async connect(
    { host, port }: TcpTarget,
    signal: AbortSignal,
    policy: TargetPolicy = this.#policy,
    asker = '',
  ): Promise<Socket> {
    const late = (): Error => new FairleadError('DEADLINE_EXCEEDED', `${host}:${port} did not answer within 10 s`);
    const deadline = startDeadline(signal, LIMITS.dialTimeoutMs, late);
    const deadlineMs = performance.now() + LIMITS.dialTimeoutMs;
    try {
      const target = readTargetHost(host);
      if (!target || port < 1 || port > 65_535) {
        throw new FairleadError('INVALID_ARGUMENT', 'the target is neither an address nor a DNS name with a port');
      }
      const addresses =
        target.kind === 'address'
          ? this.#asAddress(policy, target.host, port)
          : await this.#resolved(policy, { host: target.host, port }, deadline.signal, asker);
      return await dialFirst(addresses, port, deadlineMs, deadline.signal);
    } finally {
      deadline.clear();
    }
  }

  #asAddress(policy: TargetPolicy, host: string, port: number): readonly [string] {
    if (!policy.allowsAddress(host, port)) throw this.#refused(host, port);
    return [host];
  }

  /** The addresses that may be dialled for this name; at least one. */
  async #resolved(
    policy: TargetPolicy,
    { host: name, port }: TcpTarget,
    signal: AbortSignal,
    asker: string,
  ): Promise<readonly string[]> {
    if (!policy.allowsName(name, port)) throw this.#refused(name, port);
    const found = await this.#resolveName(name, signal, asker);
    const allowed = found.filter((address) => policy.allowsAddress(address, port, name));
    if (allowed.length === 0) throw this.#refused(name, port, ', as what it resolves to is not allowed');
    return allowed.slice(0, MAX_ADDRESSES);
  }

  async #resolveName(name: string, signal: AbortSignal, asker: string): Promise<readonly string[]> {
    try {
      return await this.#names.lookup(name, signal, asker);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FairleadError) throw error;
      const code = (error as NodeJS.ErrnoException).code ?? messageOf(error);
      throw new FairleadError('TARGET_UNREACHABLE', `${name} cannot be resolved: ${code}`, {
        cause: error,
      });
    }
  }

  #refused(host: string, port: number, why = ''): FairleadError {
    return new FairleadError('TARGET_REFUSED', `${host}:${port} is not allowed${why}, ${this.#refusedBy}`);
  }
}

/** Tries one address after the other, each with its share of the time that is left. */
async function dialFirst(
  addresses: readonly string[],
  port: number,
  deadline: number,
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown;
  for (const [index, host] of addresses.entries()) {
    const share = (deadline - performance.now()) / (addresses.length - index);
    try {
      return await dial(host, port, index === addresses.length - 1 ? null : share, signal);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

async function dial(host: string, port: number, shareMs: number | null, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
  const timer = shareMs === null ? undefined : setTimeout(() => socket.destroy(silent(host, port)), shareMs);
  try {
    await once(socket, 'connect', { signal });
    return socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    if (error instanceof FairleadError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new FairleadError('TARGET_UNREACHABLE', `${host}:${port} cannot be reached: ${code}`);
  } finally {
    clearTimeout(timer);
  }
}

function silent(host: string, port: number): FairleadError {
  return new FairleadError('DEADLINE_EXCEEDED', `${host}:${port} did not answer in time`);
}

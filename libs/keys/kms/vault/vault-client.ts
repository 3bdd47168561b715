import { readFile, stat } from 'node:fs/promises';
import { fullJitterMs, systemClock } from '@fairlead/clock';
import { isPrivate } from '@fairlead/config';
import { FairleadError, messageOf } from '@fairlead/errors';
import { Agent } from 'undici';

const DEADLINE_MS = 10_000;
const ATTEMPT_MS = 4_000;
const RETRY = { baseMs: 100, capMs: 1_000 };
const MAX_ANSWER_BYTES = 65_536;
const MAX_ERROR_CHARS = 300;

export interface VaultClientOptions {
  /** `https://host:port`, without a path. */
  readonly url: string;
  /** Read again for each request, as whoever renews the token replaces it; only its owner may read it. */
  readonly tokenFile: string;
  /** Of the server's certificate, PEM; without it, those that Node trusts. */
  readonly caPem?: string | undefined;
  /** Of Vault Enterprise. */
  readonly namespace?: string | undefined;
  /** Of each call, its retries included. */
  readonly deadlineMs?: number;
}

/** What Vault answered: 200 with data, or one of the statuses that say what is wrong with the request. */
export type VaultAnswer =
  | { readonly status: 200; readonly data: unknown }
  | { readonly status: 400 | 404; readonly errors: string };

/** Vault's HTTP API (https://developer.hashicorp.com/vault/api-docs), as far as one engine needs it. */
export class VaultClient {
  readonly #options: VaultClientOptions;
  readonly #agent: Agent;

  constructor(options: VaultClientOptions) {
    this.#options = options;
    this.#agent = new Agent({
      connect: { ...(options.caPem === undefined ? {} : { ca: options.caPem }), timeout: ATTEMPT_MS },
      headersTimeout: ATTEMPT_MS,
      bodyTimeout: ATTEMPT_MS,
      connections: 4,
      maxResponseSize: MAX_ANSWER_BYTES,
    });
  }

  /**
   * Every request of the transit engine may be sent again. UNAVAILABLE once none was answered in time, while Vault is sealed, and where it
   * refuses the token, which may be replaced any moment; INVALID_ARGUMENT if the token's file cannot be read.
   */
  async request(method: 'GET' | 'POST', path: string, body?: unknown): Promise<VaultAnswer> {
    const deadline = AbortSignal.timeout(this.#options.deadlineMs ?? DEADLINE_MS);
    let last = 'no answer in time';
    for (let attempt = 0; !deadline.aborted; attempt += 1) {
      try {
        const answer = await this.#once(method, path, body, deadline);
        if (answer.status === 200 || answer.status === 400 || answer.status === 404) return answer as VaultAnswer;
        last = `${answer.status} ${answer.errors}`;
        if (answer.status === 403) break;
      } catch (error) {
        if (error instanceof FairleadError) throw error;
        if (!deadline.aborted) last = messageOf(error);
      }
      await systemClock.sleep(fullJitterMs(attempt, RETRY), deadline).catch(() => undefined);
    }
    throw new FairleadError('UNAVAILABLE', `Vault at ${this.#options.url} does not serve the master key: ${last}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  async #once(
    method: 'GET' | 'POST',
    path: string,
    body: unknown,
    deadline: AbortSignal,
  ): Promise<{ status: number; data: unknown; errors: string }> {
    const { url, namespace } = this.#options;
    const answer = await this.#agent.request({
      origin: url,
      path,
      method,
      headers: {
        'x-vault-token': await this.#token(),
        'x-vault-request': 'true',
        ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([deadline, AbortSignal.timeout(ATTEMPT_MS)]),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, ...readBody(text) };
  }

  async #token(): Promise<string> {
    const { tokenFile } = this.#options;
    try {
      if (!isPrivate(await stat(tokenFile))) throw new Error('others can read it; run chmod 600 on it');
      const token = (await readFile(tokenFile, 'utf8')).trim();
      // Anything else is no header.
      if (/^[\x21-\x7e]{1,4096}$/.test(token)) return token;
      throw new Error('it does not hold a token');
    } catch (error) {
      throw new FairleadError('INVALID_ARGUMENT', `FAIRLEAD_VAULT_TOKEN_FILE ${tokenFile}: ${messageOf(error)}`);
    }
  }
}

/** What is no JSON comes from something before Vault. */
function readBody(text: string): { data: unknown; errors: string } {
  let body: { data?: unknown; errors?: unknown } | null = null;
  try {
    body = JSON.parse(text) as { data?: unknown; errors?: unknown } | null;
  } catch {
    return { data: undefined, errors: 'an answer that is not JSON' };
  }
  const errors = Array.isArray(body?.errors) ? body.errors.join('; ') : '';
  return { data: body?.data, errors: errors.replaceAll(/\s+/g, ' ').slice(0, MAX_ERROR_CHARS) };
}

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { isPrivate } from '@fairlead/config';
import { FairleadError, messageOf } from '@fairlead/errors';
import { unreadable } from '../../domain/sealing.js';
import type { TokenAnswer, TokenRequest, TokenSettings } from './messages.js';

/** Under which the package, and the bundle, export the module that is started. */
const WORKER = '@fairlead/keys/pkcs11-worker';
const DEADLINE_MS = 10_000;
const MAX_WAITING = 256;

export interface TokenProcessOptions extends TokenSettings {
  /** Read at each login; only its owner may read it. */
  readonly pinFile: string;
  /** Of each call, waiting included. */
  readonly deadlineMs?: number;
}

type KeyRequest = Exclude<TokenRequest, { ask: 'open' }>;

/**
 * A PKCS #11 token, behind a process of its own: a module blocks whoever calls it, for ever if its token hangs, and what it does to
 * memory it does to nobody else. One call at a time. A process that is late, or whose token is away, is ended, and the next
 * call starts another one. A PIN that was refused is not tried again before its file has changed, as tokens lock themselves.
 */
export class TokenProcess implements Disposable {
  readonly #options: TokenProcessOptions;
  #child: ChildProcess | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** The file's state, and what was said. */
  #refusedPin: { readonly stamp: string; readonly message: string } | null = null;

  constructor(options: TokenProcessOptions) {
    this.#options = options;
  }

  /** UNAVAILABLE while the token is away, or is asked too much; INVALID_ARGUMENT for settings, a PIN or data that do not fit. */
  async ask(request: KeyRequest): Promise<Buffer> {
    if (this.#waiting >= MAX_WAITING) throw away(`${MAX_WAITING} calls wait for it already`);
    this.#waiting += 1;
    const deadlineAt = performance.now() + (this.#options.deadlineMs ?? DEADLINE_MS);
    const turn = this.#last.then(() => this.#turn(request, deadlineAt));
    this.#last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.#waiting -= 1;
    }
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  async #turn(request: KeyRequest, deadlineAt: number): Promise<Buffer> {
    const reused = this.#child !== null;
    try {
      return await this.#once(request, deadlineAt);
    } catch (error) {
      // A session that was open may have ended with its token, which may be back.
      if (!reused || !isAway(error) || performance.now() >= deadlineAt) throw error;
      return this.#once(request, deadlineAt);
    }
  }

  async #once(request: KeyRequest, deadlineAt: number): Promise<Buffer> {
    const child = this.#child ?? (await this.#open(deadlineAt));
    return this.#exchange(child, request, deadlineAt);
  }

  async #open(deadlineAt: number): Promise<ChildProcess> {
    const { modulePath, tokenLabel, pinFile } = this.#options;
    const { pin, stamp } = await readPin(pinFile);
    if (this.#refusedPin?.stamp === stamp) throw wrong(`${this.#refusedPin.message} (it was not tried again)`);
    const child = fork(createRequire(import.meta.url).resolve(WORKER), [], {
      // What the module may need (SOFTHSM2_CONF, for one), and nothing of ours.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FAIRLEAD_'))),
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // Whoever stops does not wait for it, but while a call is on its way.
    child.unref();
    child.channel?.unref();
    child.on('error', () => this.#forget(child));
    child.once('exit', () => this.#forget(child));
    this.#child = child;
    try {
      await this.#exchange(child, { ask: 'open', settings: { modulePath, tokenLabel }, pin }, deadlineAt);
    } catch (error) {
      this.#end();
      if (error instanceof PinRefused) this.#refusedPin = { stamp, message: error.message };
      throw error;
    }
    this.#refusedPin = null;
    return child;
  }

  async #exchange(child: ChildProcess, request: TokenRequest, deadlineAt: number): Promise<Buffer> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), Math.max(0, deadlineAt - performance.now()));
    const { signal } = stop;
    child.channel?.ref();
    try {
      const answered = once(child, 'message', { signal }) as Promise<[TokenAnswer]>;
      const ended = once(child, 'exit', { signal }).then(([code, by]) => {
        throw away(`its process ended (${String(by ?? code)})`);
      });
      child.send(request, (error) => (error ? stop.abort(error) : undefined));
      const [answer] = await Promise.race([answered, ended]);
      return read(answer);
    } catch (error) {
      if (signal.aborted) throw this.#away('it did not answer in time, or its process is gone');
      throw isAway(error) ? this.#away(messageOf(error)) : error;
    } finally {
      clearTimeout(timer);
      stop.abort();
      child.channel?.unref();
    }
  }

  #away(why: string): FairleadError {
    this.#end();
    return away(why);
  }

  #end(): void {
    this.#child?.kill('SIGKILL');
    this.#child = null;
  }

  #forget(child: ChildProcess): void {
    if (this.#child === child) this.#child = null;
  }
}

class PinRefused extends FairleadError {}

function read(answer: TokenAnswer): Buffer {
  if ('bytes' in answer) return Buffer.from(answer.bytes);
  const { failure, message } = answer;
  if (failure === 'data') throw unreadable();
  if (failure === 'away') throw away(message);
  if (failure === 'settings') throw wrong(message);
  throw new PinRefused('INVALID_ARGUMENT', `FAIRLEAD_PKCS11_PIN_FILE: ${message}`);
}

async function readPin(path: string): Promise<{ pin: Buffer; stamp: string }> {
  const file = await stat(path, { bigint: false }).catch((error: unknown) => {
    throw wrong(`FAIRLEAD_PKCS11_PIN_FILE ${path}: ${messageOf(error)}`);
  });
  if (!isPrivate(file)) throw wrong(`FAIRLEAD_PKCS11_PIN_FILE ${path}: others can read it; run chmod 600 on it`);
  const pin = Buffer.from((await readFile(path, 'utf8')).trim());
  return { pin, stamp: `${file.ino} ${file.mtimeMs} ${file.size}` };
}

function isAway(error: unknown): boolean {
  return error instanceof FairleadError && error.code === 'UNAVAILABLE';
}

function away(why: string): FairleadError {
  return new FairleadError('UNAVAILABLE', `the PKCS #11 token that has the master key cannot be used: ${why}`);
}

function wrong(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the PKCS #11 token that has the master key cannot be used: ${why}`);
}

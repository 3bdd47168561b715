import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { eventually } from './eventually.js';
import { scratchDir, type ScratchDir } from './scratch-dir.js';

const FLAGS = [
  '--headless=new',
  // Tests run as root, and in containers.
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  // Nothing leaves this machine.
  '--disable-background-networking',
  '--disable-component-update',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--remote-debugging-pipe',
];
const PATIENCE_MS = 30_000;

interface Message {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** A real Chromium without a window, driven by the DevTools protocol over a pipe (https://chromedevtools.github.io/devtools-protocol/). */
export class HeadlessBrowser implements AsyncDisposable {
  readonly #waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  #session: string | undefined;
  #lastId = 0;

  private constructor(
    private readonly process: ChildProcess,
    private readonly profile: ScratchDir,
  ) {
    let text = '';
    (process.stdio[4] as Readable).on('data', (chunk: Buffer) => {
      const messages = (text + String(chunk)).split('\0');
      text = messages.pop() ?? '';
      for (const message of messages) this.#hear(JSON.parse(message) as Message);
    });
    // It is ended while it still speaks.
    for (const stream of process.stdio) stream?.on('error', () => undefined);
  }

  /** Starts `chromium` of the system, with a profile of its own. */
  static async start(): Promise<HeadlessBrowser> {
    const profile = await scratchDir();
    const args = [...FLAGS, `--user-data-dir=${profile.path}`, 'about:blank'];
    const process = spawn('chromium', args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    await once(process, 'spawn');
    return new HeadlessBrowser(process, profile);
  }

  /** Opens a URL in a new tab. */
  async open(url: string): Promise<void> {
    const { targetId } = await this.#ask('Target.createTarget', { url });
    const { sessionId } = await this.#ask('Target.attachToTarget', { targetId, flatten: true });
    this.#session = String(sessionId);
  }

  /** Presses the first button with these words, once it is there. */
  async press(words: string): Promise<void> {
    const button = `[...document.querySelectorAll('button')].find((each) => each.textContent.includes(${JSON.stringify(words)}))`;
    await this.#until(`(() => { const button = ${button}; button?.click(); return button !== undefined; })()`, words);
  }

  /** Waits until the page has these words. */
  async read(words: string): Promise<void> {
    await this.#until(`document.body?.innerText.includes(${JSON.stringify(words)})`, words);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await ended;
    await this.profile[Symbol.asyncDispose]();
  }

  #until(expression: string, what: string): Promise<void> {
    return eventually(
      async () => {
        const answer = await this.#ask('Runtime.evaluate', { expression, returnByValue: true });
        const { value } = answer['result'] as { value?: unknown };
        if (value !== true) throw new Error(`the browser does not show "${what}"`);
      },
      { timeoutMs: PATIENCE_MS },
    );
  }

  #ask(method: string, params: object): Promise<Record<string, unknown>> {
    this.#lastId += 1;
    const answer = Promise.withResolvers<Record<string, unknown>>();
    this.#waiting.set(this.#lastId, answer);
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    const message = JSON.stringify({ id: this.#lastId, method, params, ...session });
    (this.process.stdio[3] as Writable).write(`${message}\0`);
    return answer.promise;
  }

  #hear({ id, result, error }: Message): void {
    if (id === undefined) return;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result ?? {});
  }
}

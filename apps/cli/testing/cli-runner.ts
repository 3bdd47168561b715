import { PassThrough, Writable } from 'node:stream';
import { readConfig } from '../config.js';
import type { Input, Output } from '../io.js';
import { run } from '../run.js';

export interface CliResult {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export interface CliRunOptions {
  readonly stdin?: string;
  readonly terminal?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  /** Hears what goes there while it runs. */
  readonly onStderr?: (text: string) => void;
  /** Is told what a browser is to open; without it there is none. */
  readonly browser?: (url: string) => void;
  /** Default: another one each time. */
  readonly parentPid?: number;
  /** Default: this machine's clock. */
  readonly now?: () => Date;
}

export type RunCli = (args: readonly string[], options?: CliRunOptions) => Promise<CliResult>;

export const CLI_SELF = { program: '/opt/node', args: ['/opt/fairlead/main.js'] };

let nextPid = 1_000_000;

/** Runs command lines in this process, with this home for the login, as if at a terminal or not. */
export function cliRunner(home: string, userHome: string): RunCli {
  return async (args, options = {}) => {
    const terminal = options.terminal ?? false;
    const stdin: Input = Object.assign(new PassThrough(), { isTTY: terminal });
    stdin.push(options.stdin ?? '');
    if (!terminal) stdin.push(null);
    const [stdout, stderr] = [collector(terminal), collector(terminal, options.onStderr)];
    const config = readConfig({ FAIRLEAD_HOME: home, ...options.env }, userHome);
    const streams = { stdin, stdout: stdout.stream, stderr: stderr.stream };
    const openBrowser = async (url: string): Promise<boolean> => {
      options.browser?.(url);
      return options.browser !== undefined;
    };
    const now = options.now ?? (() => new Date());
    const parentPid = options.parentPid ?? (nextPid += 1);
    const status = await run(args, { ...streams, config, self: CLI_SELF, parentPid, now, openBrowser });
    return { status, out: stdout.text(), err: stderr.text() };
  };
}

function collector(isTTY: boolean, hear = (_text: string): void => undefined): { stream: Output; text: () => string } {
  const chunks: string[] = [];
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    chunks.push(String(chunk));
    hear(String(chunk));
    done();
  };
  return { stream: Object.assign(new Writable({ write }), { isTTY }), text: () => chunks.join('') };
}

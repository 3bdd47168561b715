import type { Readable, Writable } from 'node:stream';
import type { CliConfig } from './config.js';

/** A stream that may be a terminal. */
export interface Input extends Readable {
  isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
}
export interface Output extends Writable {
  isTTY?: boolean;
}

export interface Self {
  readonly program: string;
  readonly args: readonly string[];
}

/** Everything of the outside world that a command touches, besides the network and files. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly config: CliConfig;
  /** How a kubeconfig calls this very command again: the program, and what stands before the command's own arguments. */
  readonly self: Self;
  /** The process that runs this command: kubectl, where a kubeconfig calls it. */
  readonly parentPid: number;
  readonly now: () => Date;
  /** Opens a page in the browser of whoever runs this; false if there is no way to. */
  readonly openBrowser: (url: string) => Promise<boolean>;
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TestbedError, messageOf } from '../errors.js';

/** A module of the Go module proxy, pinned as in a go.sum. */
export interface GoModulePin {
  readonly path: string;
  /** With a leading v. */
  readonly version: string;
  /** `h1:…`, of the module's files. */
  readonly sum: string;
}

const DOWNLOAD_TIMEOUT_MS = 300_000;

/**
 * The folder with the module's files, in Go's module cache, which nobody may write to. Downloads it the first time. Throws
 * TestbedError when there is no Go, when it cannot be had, and when it is not what the pin says.
 */
export async function goModuleDir({ path, version, sum }: GoModulePin): Promise<string> {
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOWORK: 'off', GOFLAGS: '-mod=mod' };
  const args = ['mod', 'download', '-json', `${path}@${version}`];
  const options = { env, timeout: DOWNLOAD_TIMEOUT_MS };
  const { stdout } = await promisify(execFile)('go', args, options).catch((cause: unknown) => {
    throw new TestbedError(`no Go module ${path} ${version}: ${messageOf(cause)}`, { cause });
  });
  const found = JSON.parse(stdout) as { Dir: string; Sum: string };
  if (found.Sum !== sum) throw new TestbedError(`the Go module ${path} ${version} is ${found.Sum}, not ${sum}`);
  return found.Dir;
}

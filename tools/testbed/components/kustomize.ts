import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findBinary, type FindOptions } from '../binaries/find-binary.js';

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** What the kustomization in the folder makes, in YAML, by the kustomize in kubectl. It asks no cluster. */
export async function kustomize(dir: string, options: FindOptions = {}): Promise<string> {
  const { path } = await findBinary('kubectl', options);
  const env = { ...process.env, KUBECONFIG: '/dev/null' };
  const { stdout } = await promisify(execFile)(path, ['kustomize', dir], {
    env,
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_BYTES,
  });
  return stdout;
}

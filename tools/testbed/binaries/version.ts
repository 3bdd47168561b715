import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Component } from './catalog.js';

/** The version (x.y.z) a binary says it is. Throws when it does not run or says none. */
export async function versionOf(path: string, component: Pick<Component, 'versionArgs'>): Promise<string> {
  if (component.versionArgs === undefined) return versionOfModule(path);
  // KUBECONFIG is emptied: kubectl must not so much as look at the user's own.
  const env = { ...process.env, KUBECONFIG: '/dev/null' };
  const { stdout, stderr } = await promisify(execFile)(path, [...component.versionArgs], { timeout: 20_000, env });
  const found = /\bv?(\d+\.\d+\.\d+)/u.exec(`${stdout}\n${stderr}`);
  if (!found) throw new Error(`${path} ${component.versionArgs.join(' ')} printed no version`);
  return found[1]!;
}

/** The version of the module that the program is of. */
async function versionOfModule(path: string): Promise<string> {
  const { stdout } = await promisify(execFile)('go', ['version', '-m', path], { timeout: 20_000 });
  const found = /^\tmod\t\S+\tv(\d+\.\d+\.\d+)/mu.exec(stdout);
  if (!found) throw new Error(`go version -m ${path} printed no version`);
  return found[1]!;
}

/** Whether dotted version `a` is `b` or newer; parts that are absent count as 0. */
export function atLeast(a: string, b: string): boolean {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number)) as [number[], number[]];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

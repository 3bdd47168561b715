import { access, constants } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { TestbedError, messageOf } from '../errors.js';
import type { Component } from './catalog.js';
import type { Binary, BinaryProvider, Context, Probe } from './provider.js';
import { atLeast, versionOf } from './version.js';

const nothingToObtain = (component: Component): Promise<Binary> =>
  Promise.reject(new TestbedError(`${component.name} is either here or not`));

/** A binary that a variable names. One that does not work is an error: falling through would run something nobody asked for. */
export const fromEnvironment: BinaryProvider = {
  name: 'env',
  advice: (component) => `set ${component.env} to the path of a binary`,
  async probe(component, { env }): Promise<Probe> {
    const value = env[component.env];
    if (!value) return { state: 'no', why: `${component.env} is not set` };
    const path = resolve(value);
    const version = await versionOf(path, component).catch((cause: unknown) => {
      throw new TestbedError(`${component.env}=${value} does not work: ${messageOf(cause)}`, { cause });
    });
    return { state: 'ready', binary: { path, version, provider: 'env', why: `${component.env} names it` } };
  },
  obtain: nothingToObtain,
};

/** A binary in KUBEBUILDER_ASSETS, else on PATH, that is not too old. */
export const fromPath: BinaryProvider = {
  name: 'path',
  advice: (component) => `install ${component.name} ${component.oldest} or newer on PATH or in KUBEBUILDER_ASSETS`,
  async probe(component, { env }): Promise<Probe> {
    const passed: string[] = [];
    for (const { dir, what } of searchedDirectories(env)) {
      const path = join(dir, component.name);
      if (!(await isExecutable(path))) continue;
      const verdict = await judge(path, component);
      if (verdict.version !== undefined) {
        const why = `${what} has it, and ${component.oldest} or newer is wanted`;
        return { state: 'ready', binary: { path, version: verdict.version, provider: 'path', why } };
      }
      passed.push(verdict.problem);
    }
    return { state: 'no', why: passed.length > 0 ? passed.join('; ') : 'neither on PATH nor in KUBEBUILDER_ASSETS' };
  },
  obtain: nothingToObtain,
};

function searchedDirectories(env: Context['env']): { dir: string; what: string }[] {
  const assets = env['KUBEBUILDER_ASSETS'];
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '');
  return [
    ...(assets ? [{ dir: resolve(assets), what: 'KUBEBUILDER_ASSETS' }] : []),
    ...[...new Set(onPath)].map((dir) => ({ dir: resolve(dir), what: 'PATH' })),
  ];
}

type Verdict = { readonly version: string } | { readonly version?: never; readonly problem: string };

async function judge(path: string, component: Component): Promise<Verdict> {
  try {
    const version = await versionOf(path, component);
    if (atLeast(version, component.oldest)) return { version };
    return { problem: `${path} is ${version}, older than ${component.oldest}` };
  } catch (error) {
    return { problem: `${path} does not run: ${messageOf(error)}` };
  }
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

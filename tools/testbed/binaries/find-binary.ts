import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestbedError, messageOf } from '../errors.js';
import { logToStderr, type Log } from '../log.js';
import { readSettings, type Settings } from '../settings.js';
import { COMPONENTS, type BinaryName, type Component } from './catalog.js';
import { fromGoModules } from './go-build.js';
import { fromRelease } from './release.js';
import { fromEnvironment, fromPath } from './local-providers.js';
import type { Binary, BinaryProvider, Context, Probe } from './provider.js';

export type { Binary } from './provider.js';

/** All providers of binaries, in the order they are tried. */
const BINARY_PROVIDERS: readonly BinaryProvider[] = [fromEnvironment, fromPath, fromRelease, fromGoModules];

export interface FindOptions {
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
}

const found = new Map<string, Binary>();

/**
 * The binary of a component: the first provider that has it here, else the first that can get it. What was chosen and why goes to
 * the log, once per process. Throws TestbedError naming what to install when no provider works.
 */
export async function findBinary(name: BinaryName, options: FindOptions = {}): Promise<Binary> {
  noteUse(name);
  const settings = readSettings();
  const component = COMPONENTS[name];
  const id = JSON.stringify([name, settings, process.env[component.env]]);
  const before = found.get(id);
  if (before) return before;
  const context = { settings, env: process.env, log: options.log ?? logToStderr, signal: options.signal };
  const binary = await choose(component, context, providersOf(settings));
  found.set(id, binary);
  return binary;
}

/** For who wants to know what a test needs: an empty file of the component's name in the folder of this variable. */
function noteUse(name: BinaryName): void {
  const dir = process.env['FAIRLEAD_TESTBED_USED_DIR'];
  if (dir) writeFileSync(join(dir, name), '');
}

/** The chosen providers of binaries in their order; Docker runs servers and has no part here. */
export function providersOf(settings: Settings): BinaryProvider[] {
  return settings.providers.flatMap((name) => BINARY_PROVIDERS.filter((provider) => provider.name === name));
}

/** What to install or set, one line for each provider that could then have it. */
export function adviceFor(component: Component, providers: readonly BinaryProvider[]): string[] {
  return providers.map((provider) => provider.advice(component)).filter((line) => line !== undefined);
}

/** What `findBinary` decides, over the given providers. */
export async function choose(
  component: Component,
  context: Context,
  providers: readonly BinaryProvider[],
): Promise<Binary> {
  const probes: { provider: BinaryProvider; probe: Probe }[] = [];
  for (const provider of providers) {
    const probe = await provider.probe(component, context);
    // What is here already wins over what would have to be fetched or built, wherever the latter stands in the order.
    if (probe.state === 'ready') return chosen(component, probe.binary, context.log, passedOver(probes));
    probes.push({ provider, probe });
  }
  const failures: string[] = [];
  for (const { provider, probe } of probes) {
    if (probe.state !== 'possible') {
      if (probe.state === 'no') failures.push(`${provider.name}: ${probe.why}`);
      continue;
    }
    try {
      return chosen(component, await provider.obtain(component, context), context.log, []);
    } catch (error) {
      context.signal?.throwIfAborted();
      failures.push(`${provider.name}: ${messageOf(error)}`);
      context.log(`${component.name}: ${provider.name} did not work: ${messageOf(error)}`);
    }
  }
  throw nothingWorks(component, failures, providers);
}

/** Why earlier providers were not used, where there is more to say than that a variable is not set. */
function passedOver(probes: readonly { provider: BinaryProvider; probe: Probe }[]): string[] {
  return probes.flatMap(({ provider, probe }) =>
    probe.state === 'no' && provider.name !== 'env' ? [`not ${provider.name}: ${probe.why}`] : [],
  );
}

function chosen(component: Component, binary: Binary, log: Log, passed: readonly string[]): Binary {
  const why = [`${binary.provider}: ${binary.why}`, ...passed].join('; ');
  log(`${component.name} ${binary.version}: ${binary.path} (${why})`);
  return binary;
}

function nothingWorks(component: Component, failures: string[], providers: readonly BinaryProvider[]): TestbedError {
  const advice = adviceFor(component, providers);
  const lines = [...failures, `To get it: ${advice.join('; or ')}.`];
  return new TestbedError(`no ${component.name} ${component.version} here:\n  ${lines.join('\n  ')}`);
}

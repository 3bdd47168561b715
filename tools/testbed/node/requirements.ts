import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { TestbedError, messageOf } from '../errors.js';
import type { Log } from '../log.js';

/** Where Debian's package puts the plugins; they are on nobody's PATH. */
export const CNI_PLUGINS = '/usr/lib/cni';

/** Programs, and the Debian package of each. */
type Packages = Readonly<Record<string, string>>;

const MACHINE: Packages = {
  iptables: 'iptables',
  busybox: 'busybox-static',
  ip: 'iproute2',
  nsenter: 'util-linux',
  unshare: 'util-linux',
  mount: 'mount',
};
const NODE: Packages = { ...MACHINE, containerd: 'containerd', ctr: 'containerd', runc: 'runc' };
const ENGINE: Packages = {
  ...MACHINE,
  dockerd: 'docker.io',
  docker: 'docker.io',
  containerd: 'containerd',
  runc: 'runc',
};
const PLUGINS = ['bridge', 'host-local', 'loopback', 'portmap'];
const PLUGINS_PACKAGE = 'containernetworking-plugins';
const INSTALL_TIMEOUT_MS = 300_000;
/** Of apt-get one runs at a time, and a second one fails at once: ours wait for each other with a lock on this folder, which every Debian has. */
const ONE_AT_A_TIME = '/var/lib/apt';

/** The Debian packages that are missing for a real node. */
export async function missingPackages(): Promise<string[]> {
  const plugins = PLUGINS.every((name) => existsSync(join(CNI_PLUGINS, name))) ? [] : [PLUGINS_PACKAGE];
  return [...new Set([...(await missingOf(NODE)), ...plugins])].sort();
}

async function missingOf(programs: Packages): Promise<string[]> {
  const packages = Object.entries(programs).map(async ([name, of]) => ((await isOnPath(name)) ? [] : [of]));
  return [...new Set((await Promise.all(packages)).flat())].sort();
}

/**
 * Resolves when this machine can run a real node: Linux, root, and Debian's packages, which are installed where apt-get is. Throws
 * TestbedError that says what is missing and what to do.
 */
export function requireNodePrograms(log: Log): Promise<void> {
  return requirePackages('a real node', missingPackages, 'the test kubelet runs elsewhere too', log);
}

/** The same for a Docker engine. */
export function requireEnginePrograms(log: Log): Promise<void> {
  return requirePackages('a Docker engine', () => missingOf(ENGINE), 'what it runs does not need one', log);
}

async function requirePackages(
  what: string,
  missingNow: () => Promise<string[]>,
  elsewhere: string,
  log: Log,
): Promise<void> {
  if (process.platform !== 'linux') throw new TestbedError(`${what} needs Linux: ${elsewhere}`);
  if (process.getuid?.() !== 0)
    throw new TestbedError(`${what} needs root: for cgroups, mounts and networks of its own`);
  const missing = await missingNow();
  if (missing.length === 0) return;
  const failure = await install(missing, log);
  const still = await missingNow();
  if (still.length === 0) return;
  const advice = `apt-get install --no-install-recommends ${still.join(' ')}`;
  throw new TestbedError(`${what} needs Debian's ${still.join(', ')} (${advice})${failure}`);
}

/** Says why it failed; the caller looks what is there. */
async function install(packages: readonly string[], log: Log): Promise<string> {
  if (!(await isOnPath('apt-get'))) return '; there is no apt-get here to install them with';
  log(`installing ${packages.join(', ')}`);
  // On runlevel 1 no package starts its service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const timeout = INSTALL_TIMEOUT_MS;
  const apt = (...args: string[]) =>
    promisify(execFile)('flock', [ONE_AT_A_TIME, 'apt-get', ...args], { env, timeout });
  try {
    await apt('update', '-qq');
    await apt('install', '-qq', '-y', '--no-install-recommends', ...packages);
    return '';
  } catch (error) {
    return `; installing them failed: ${messageOf(error)}`;
  }
}

async function isOnPath(program: string): Promise<boolean> {
  for (const dir of (process.env['PATH'] ?? '').split(delimiter)) {
    const found = await access(join(dir, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}

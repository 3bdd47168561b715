import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { TestbedError } from '../errors.js';
import { fill, lookUp, type CacheKey, type Found } from './cache.js';
import type { Component } from './catalog.js';
import { platform } from './platform.js';
import type { Binary, BinaryProvider, Context, Probe } from './provider.js';
import { atLeast, versionOf } from './version.js';

const PROGRESS_MS = 10_000;
const GO_ENV = { GOTOOLCHAIN: 'local', GOFLAGS: '-buildvcs=false', GOWORK: 'off' };
/** Fewer collections in the compiler: a seventh less CPU time (41 to 43 s, not 48 to 50). SQLite takes gcc 15 s at -O1 and 48 at Go's own flags. What the caller has set counts before these. */
const FAST_BUILD = { GOGC: '400', CGO_CFLAGS: '-O1 -g0' };

/** Builds the pinned version from Go modules: what works wherever there is Go and a module proxy. */
export const fromGoModules: BinaryProvider = {
  name: 'go',
  advice: ({ go: { oldestGo, cgo } }) =>
    `install Go ${oldestGo} or newer (https://go.dev/dl/)${cgo ? ' and a C compiler' : ''}, and it is built here`,
  async probe(component, context): Promise<Probe> {
    const cached = await lookUp(await cacheKey(component, context));
    if (cached) return { state: 'ready', binary: toBinary(cached) };
    const go = await goVersion();
    if (go === undefined) return { state: 'no', why: 'no Go on PATH' };
    if (!atLeast(go, component.go.oldestGo))
      return { state: 'no', why: `Go ${go} is older than ${component.go.oldestGo}` };
    return { state: 'possible', how: `builds it from Go modules (${component.go.about} on 2 cores, Go ${go})` };
  },
  async obtain(component, context): Promise<Binary> {
    const found = await fill(await cacheKey(component, context), {
      log: context.log,
      signal: context.signal,
      make: async (path, signal) => {
        await build(component, path, context, signal);
        await copyAssets(component, dirname(path));
        const version = await versionOf(path, component);
        if (version !== component.version)
          throw new TestbedError(`built ${component.name} ${version}, not ${component.version}`);
        return { version, provider: 'go', source: component.go.package };
      },
    });
    return toBinary(found);
  },
};

function toBinary({ path, entry }: Found): Binary {
  return { path, version: entry.version, provider: 'go', why: `built from the Go modules pinned for ${entry.source}` };
}

async function cacheKey(component: Component, { settings }: Context): Promise<CacheKey> {
  const dir = moduleDir(component);
  const hash = createHash('sha256');
  const sources = component.go.ownSource ? (await readdir(dir)).filter((file) => file.endsWith('.go')).sort() : [];
  for (const file of ['go.mod', 'go.sum', ...sources]) hash.update(await readFile(join(dir, file)));
  hash.update([...buildArgs(component, ''), ...(component.go.assets ?? [])].join('\0'));
  const digest = hash.digest('hex').slice(0, 12);
  return { root: settings.cacheDir, name: component.name, entry: `${component.version}-${digest}-${platform().key}` };
}

/** `-mod=readonly`: what go.mod and go.sum do not name is never fetched. */
function buildArgs(component: Component, output: string): string[] {
  const sets = Object.entries(component.go.set).map(([key, value]) => `-X ${key}=${value}`);
  const ldflags = ['-s', '-w', ...sets].join(' ');
  const tags = component.go.tags ? [`-tags=${component.go.tags.join(',')}`] : [];
  return [
    // `go test` takes -v for something else.
    ...(component.go.tests ? ['test', '-c'] : ['build', '-v']),
    '-mod=readonly',
    '-trimpath',
    ...tags,
    '-ldflags',
    ldflags,
    '-o',
    output,
    component.go.package,
  ];
}

async function build(component: Component, path: string, { log, env }: Context, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const started = Date.now();
  const what = `building ${component.name} ${component.version} from Go modules`;
  log(`${what}, ${component.go.about} on 2 cores (this machine has ${availableParallelism()})`);
  const child = spawn('go', buildArgs(component, path), {
    cwd: moduleDir(component),
    env: { ...FAST_BUILD, ...env, ...GO_ENV, ...(component.go.cgo ? { CGO_ENABLED: '1' } : {}) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // SIGINT lets go remove its work directory.
  const stop = () => child.kill('SIGINT');
  signal.addEventListener('abort', stop, { once: true });
  const output = { lines: 0, last: [] as string[] };
  child.stderr.setEncoding('utf8').on('data', (text: string) => collect(output, text));
  const progress = setInterval(
    () => log(`${what} … ${elapsed(started)}, ${output.lines} packages and modules`),
    PROGRESS_MS,
  );
  try {
    const code = await new Promise<number | null>((done, fail) => child.once('error', fail).once('close', done));
    signal.throwIfAborted();
    if (code !== 0)
      throw new TestbedError(`go build of ${component.name} failed (code ${code}):\n${output.last.join('\n')}`);
    log(`built ${component.name} ${component.version} in ${elapsed(started)}`);
  } finally {
    clearInterval(progress);
    signal.removeEventListener('abort', stop);
  }
}

/** Puts the folders a program reads at run time beside it, from its module's own, which nobody may write to. */
async function copyAssets(component: Component, target: string): Promise<void> {
  if (!component.go.assets) return;
  const args = ['list', '-mod=readonly', '-f', '{{.Module.Dir}}', component.go.package];
  const { stdout } = await promisify(execFile)('go', args, {
    cwd: moduleDir(component),
    env: { ...process.env, ...GO_ENV },
  });
  for (const folder of component.go.assets) await copyFolder(join(stdout.trim(), folder), join(target, folder));
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, copy);
    else await writeFile(copy, await readFile(source));
  }
}

function collect(output: { lines: number; last: string[] }, text: string): void {
  const lines = text.split('\n').filter((line) => line !== '');
  output.lines += lines.length;
  output.last = [...output.last, ...lines].slice(-15);
}

const elapsed = (since: number) => `${Math.round((Date.now() - since) / 1000)} s`;

/** The folder with the component's go.mod, from the source tree and from `dist` alike. */
function moduleDir(component: Component): string {
  for (let dir = import.meta.dirname; dir !== dirname(dir); dir = dirname(dir)) {
    const candidate = join(dir, 'go', component.go.dir);
    if (existsSync(join(candidate, 'go.mod'))) return candidate;
  }
  throw new TestbedError(`the pinned Go module of ${component.name} is missing from the testbed`);
}

async function goVersion(): Promise<string | undefined> {
  try {
    const env = { ...process.env, GOTOOLCHAIN: 'local' };
    const { stdout } = await promisify(execFile)('go', ['env', 'GOVERSION'], { env });
    return /go(\d+(?:\.\d+)*)/u.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

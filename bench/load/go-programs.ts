import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BenchError } from '../process/bench-error.js';

/** A Go module of the benchmark: its folder beside this file's parent, and the packages that are built from it, by name. */
interface Module {
  readonly folder: string;
  readonly programs: Readonly<Record<string, string>>;
  readonly about: string;
}

const OWN: Module = {
  folder: 'go',
  programs: {
    load: './load',
    relay: './relay',
    apiproxy: './apiproxy',
    target: './target',
    ...(process.platform === 'linux' ? { wan: './wan' } : {}),
  },
  about: 'a few seconds',
};
const PEER: Module = {
  folder: 'konnectivity',
  programs: {
    'proxy-server': 'sigs.k8s.io/apiserver-network-proxy/cmd/server',
    'idle-agents': './idleagents',
    'proxy-agent': 'sigs.k8s.io/apiserver-network-proxy/cmd/agent',
  },
  about: 'about a minute, once',
};

/** Paths of the programs. */
export interface GoPrograms {
  readonly load: string;
  readonly relay: string;
  /** One hop of Go's reverse proxy. */
  readonly apiproxy: string;
  readonly target: string;
  /** On Linux only. */
  readonly wan: string;
}

export interface PeerPrograms {
  readonly server: string;
  readonly agent: string;
  /** Many of its agents in one process. */
  readonly idleAgents: string;
}

const BUILD_TIMEOUT_MS = 600_000;

/**
 * The benchmark's own Go programs, built once per content of their sources into `bench/bin`. Throws BenchError if Go is
 * missing or the build fails.
 */
export async function buildGoPrograms(say: (text: string) => void, signal: AbortSignal): Promise<GoPrograms> {
  const dir = await built(OWN, say, signal);
  const at = (name: string): string => join(dir, name);
  return { load: at('load'), relay: at('relay'), apiproxy: at('apiproxy'), target: at('target'), wan: at('wan') };
}

/** The peer's server and agent, at the version that `bench/konnectivity/go.mod` pins. Throws BenchError as above. */
export async function buildPeer(say: (text: string) => void, signal: AbortSignal): Promise<PeerPrograms> {
  const dir = await built(PEER, say, signal);
  const at = (name: string): string => join(dir, name);
  return { server: at('proxy-server'), agent: at('proxy-agent'), idleAgents: at('idle-agents') };
}

/** The folder with a module's programs. A build that was cut short is never used. */
async function built(module: Module, say: (text: string) => void, signal: AbortSignal): Promise<string> {
  const source = sourceOf(module);
  const dir = join(dirname(source), 'bin', `${module.folder}-${await digestOf(source)}`);
  if (existsSync(dir)) return dir;
  say(`building ${Object.keys(module.programs).join(', ')} (${module.about})`);
  const unfinished = `${dir}.${process.pid}-${randomBytes(4).toString('hex')}`;
  await mkdir(unfinished, { recursive: true });
  try {
    for (const [name, path] of Object.entries(module.programs)) {
      await goBuild(source, path, join(unfinished, name), signal);
    }
    await rename(unfinished, dir);
  } catch (error) {
    // Somebody else's build of the same sources came first.
    if (!existsSync(dir)) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return dir;
}

/** `bench/<folder>`, seen from this file, compiled or not. */
function sourceOf({ folder }: Module): string {
  for (let dir = import.meta.dirname; dir !== dirname(dir); dir = dirname(dir)) {
    const candidate = join(dir, folder);
    if (existsSync(join(candidate, 'go.mod'))) return candidate;
  }
  throw new BenchError(`bench/${folder} was not found beside the benchmark`);
}

async function digestOf(source: string): Promise<string> {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  const names = (await readdir(source, { recursive: true })).filter((name) => /(\.go|go\.mod|go\.sum)$/.test(name));
  for (const name of names.sort()) {
    hash
      .update(name)
      .update('\0')
      .update(await readFile(join(source, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** `-mod=readonly`: what go.mod and go.sum do not name is never fetched. */
function goBuild(source: string, path: string, output: string, signal: AbortSignal): Promise<void> {
  const args = ['build', '-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags=-s -w', '-o', output, path];
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOWORK: 'off', GOFLAGS: '' };
  return new Promise((resolve, reject) => {
    execFile('go', args, { cwd: source, env, signal, timeout: BUILD_TIMEOUT_MS }, (error, _stdout, stderr) => {
      if (!error) resolve();
      else if (signal.aborted) reject(signal.reason as Error);
      else if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        reject(new BenchError('the benchmark needs Go 1.24.7 or newer on PATH (https://go.dev/dl/)'));
      } else reject(new BenchError(`go build failed:\n${stderr.trim().slice(-2_000)}`, { cause: error }));
    });
  });
}

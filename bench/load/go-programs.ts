import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BenchError } from '../process/bench-error.js';

export interface GoPrograms {
  readonly server: string;
  readonly relay: string;
  readonly load: string;
}

const BUILD_TIMEOUT_MS = 180_000;

/**
 * The benchmark's Go programs, built once per content of their sources into `bench/bin`. A build that was cut short is
 * never used. Throws BenchError if Go is missing or the build fails.
 */
export async function buildGoPrograms(say: (text: string) => void, signal: AbortSignal): Promise<GoPrograms> {
  const module = moduleDir();
  const dir = join(dirname(module), 'bin', await digestOf(module));
  const programs = { server: join(dir, 'server'), relay: join(dir, 'relay'), load: join(dir, 'load') };
  if (existsSync(dir)) return programs;
  say('building the Go programs');
  const unfinished = `${dir}.${process.pid}-${randomBytes(4).toString('hex')}`;
  await mkdir(unfinished, { recursive: true });
  try {
    await goBuild(module, unfinished, signal);
    await rename(unfinished, dir);
  } catch (error) {
    // Somebody else's build of the same sources came first.
    if (!existsSync(dir)) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return programs;
}

/** `bench/go`, seen from this file, compiled or not. */
function moduleDir(): string {
  for (let dir = import.meta.dirname; dir !== dirname(dir); dir = dirname(dir)) {
    const candidate = join(dir, 'go');
    if (existsSync(join(candidate, 'go.mod'))) return candidate;
  }
  throw new BenchError('bench/go was not found beside the benchmark');
}

async function digestOf(module: string): Promise<string> {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  const names = (await readdir(module, { recursive: true })).filter((name) => /(\.go|go\.mod)$/.test(name)).sort();
  for (const name of names)
    hash
      .update(name)
      .update('\0')
      .update(await readFile(join(module, name)));
  return hash.digest('hex').slice(0, 16);
}

function goBuild(module: string, into: string, signal: AbortSignal): Promise<void> {
  const args = ['build', '-trimpath', '-buildvcs=false', '-o', `${into}/`, './server', './relay', './load'];
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOWORK: 'off', GOFLAGS: '' };
  return new Promise((resolve, reject) => {
    execFile('go', args, { cwd: module, env, signal, timeout: BUILD_TIMEOUT_MS }, (error, _stdout, stderr) => {
      if (!error) resolve();
      else if (signal.aborted) reject(signal.reason as Error);
      else if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        reject(new BenchError('the benchmark needs Go 1.22 or newer on PATH (https://go.dev/dl/)'));
      } else reject(new BenchError(`go build failed:\n${stderr.trim().slice(-2_000)}`, { cause: error }));
    });
  });
}

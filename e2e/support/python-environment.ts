import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { runTool } from './run-tool.js';

/**
 * The Python of a virtual environment with exactly these packages, made once for each list of them in the folder where the
 * testbed keeps what it built. Needs `python3` with `venv` on PATH, and a package index the first time.
 */
export async function pythonWith(requirements: string): Promise<string> {
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const dir = join(cacheDir(), 'python', digest);
  const python = join(dir, 'bin', 'python');
  if (existsSync(python)) return python;
  await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
  const temporary = await mkdtemp(`${dir}.tmp-`);
  try {
    await runTool('python3', ['-m', 'venv', temporary], {});
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', '-r', requirements];
    await runTool(join(temporary, 'bin', 'python'), pip, indexOf(process.env));
    await rename(temporary, dir).catch((error: unknown) => {
      // Another test was faster.
      if (!existsSync(python)) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return python;
}

/** Where this machine has its packages from. */
function indexOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const names = Object.keys(env).filter((name) => /^(?:PIP_|https?_proxy$|no_proxy$|HOME$|SSL_CERT_)/iu.test(name));
  return Object.fromEntries(names.map((name) => [name, env[name] ?? '']));
}

function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  return resolve(env['FAIRLEAD_CACHE_DIR'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'fairlead'));
}

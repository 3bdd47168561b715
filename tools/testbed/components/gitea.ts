import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { findBinary } from '../binaries/find-binary.js';
import { onFreePorts } from './auto-port.js';
import type { GiteaInfo, GiteaOptions, Running } from './contract.js';
import { expectOk } from './expect-ok.js';
import { claimDataDir } from '../process/ownership.js';
import { giteaConfig } from './gitea-config.js';
import { ADMIN_USER, ensureAdmin, ensureGiteaKeys, giteaEnv } from './gitea-setup.js';
import { runServer, untilReady } from './running.js';

const READY_TIMEOUT_MS = 120_000;

/**
 * Starts a Gitea on 127.0.0.1: HTTPS with a certificate of an authority of its own, its built-in SSH server, SQLite, and an
 * administrator with a token for everything. Needs `git` on PATH. Throws TestbedError naming what to install.
 */
export async function startGitea(options: GiteaOptions): Promise<Running<GiteaInfo>> {
  const { path } = await findBinary('gitea', options);
  return onFreePorts([options.port, options.sshPort], ([port, sshPort]) =>
    startProcess(options, path, port!, sshPort!),
  );
}

async function startProcess(
  options: GiteaOptions,
  path: string,
  port: number,
  sshPort: number,
): Promise<Running<GiteaInfo>> {
  const { signal } = options;
  const dataDir = resolve(options.dataDir);
  const url = `https://127.0.0.1:${port}`;
  // Before anything is written: another process may run a Gitea on this data.
  await claimDataDir(dataDir);
  await mkdir(join(dataDir, 'home'), { recursive: true, mode: 0o700 });
  const { caPem, sshHostKey } = await ensureGiteaKeys(dataDir);
  const configPath = join(dataDir, 'app.ini');
  const staticRoot = await assetsBeside(path);
  await writeFile(configPath, giteaConfig({ dataDir, port, sshPort, staticRoot }), { mode: 0o600 });
  const adminToken = await ensureAdmin({ path, configPath, dataDir, signal });
  return runServer<GiteaInfo>({
    dataDir,
    info: { url, port, sshPort, caPem, sshHostKey, adminUser: ADMIN_USER, adminToken },
    async start(launch) {
      const args = ['--config', configPath, 'web'];
      const logPath = join(dataDir, 'gitea.log');
      const env = giteaEnv(dataDir);
      const child = await launch({ name: 'gitea', path, args, logPath, cwd: dataDir, env, stopSignal: 'SIGTERM' });
      const probe = () => expectOk(`${url}/api/healthz`, { ca: caPem });
      await untilReady({ child, probe, timeoutMs: READY_TIMEOUT_MS, signal });
    },
  });
}

/** A build keeps what it reads beside the program; a release has it inside. */
async function assetsBeside(path: string): Promise<string | undefined> {
  const dir = dirname(path);
  const found = await stat(join(dir, 'templates')).catch(() => undefined);
  return found?.isDirectory() ? dir : undefined;
}

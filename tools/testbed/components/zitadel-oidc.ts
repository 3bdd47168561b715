import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findBinary } from '../binaries/find-binary.js';
import { onFreePorts } from './auto-port.js';
import type { OidcUser, Running, ZitadelOidcInfo, ZitadelOidcOptions } from './contract.js';
import { runServer, untilReady } from './running.js';

const READY_TIMEOUT_MS = 20_000;
const CLIENT_ID = 'fairlead';

/**
 * Starts the example provider of github.com/zitadel/oidc on 127.0.0.1: OpenID Connect with two users and one public client. Throws TestbedError naming
 * what to install.
 */
export async function startZitadelOidc(options: ZitadelOidcOptions): Promise<Running<ZitadelOidcInfo>> {
  const { path } = await findBinary('zitadel-oidc', options);
  return onFreePorts([options.port], ([port]) => startProcess(options, path, port!));
}

async function startProcess(
  { dataDir: dir, redirectUris = ['http://127.0.0.1/callback'], signal }: ZitadelOidcOptions,
  path: string,
  port: number,
): Promise<Running<ZitadelOidcInfo>> {
  const dataDir = resolve(dir);
  const url = `http://127.0.0.1:${port}/`;
  const users = ['ada', 'grace'].map((name) => ({ id: `id-${name}`, name, password: randomBytes(12).toString('hex') }));
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const usersFile = join(dataDir, 'users.json');
  await writeFile(usersFile, JSON.stringify(asStored(users)), { mode: 0o600 });
  return runServer<ZitadelOidcInfo>({
    dataDir,
    info: { url, port, clientId: CLIENT_ID, users },
    async start(launch) {
      const args = [
        '-port',
        `${port}`,
        '-users',
        usersFile,
        '-client',
        CLIENT_ID,
        '-redirects',
        redirectUris.join(','),
      ];
      const logPath = join(dataDir, 'zitadel-oidc.log');
      const child = await launch({ name: 'zitadel-oidc', path, args, logPath, cwd: dataDir, stopSignal: 'SIGTERM' });
      const probe = () => expectDiscovery(url);
      await untilReady({ child, probe, timeoutMs: READY_TIMEOUT_MS, signal });
    },
  });
}

async function expectDiscovery(issuer: string): Promise<void> {
  const response = await fetch(`${issuer}.well-known/openid-configuration`, { signal: AbortSignal.timeout(2_000) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`its discovery answered ${response.status}`);
}

/** As upstream's storage reads them. */
function asStored(users: readonly OidcUser[]): Record<string, object> {
  return Object.fromEntries(
    users.map(({ id, name, password }) => [
      id,
      { ID: id, Username: name, Password: password, Email: `${name}@example.invalid`, EmailVerified: true },
    ]),
  );
}

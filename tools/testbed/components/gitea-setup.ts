import { execFile } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestbedError, messageOf } from '../errors.js';
import { createAuthority, issueServing } from './kubernetes-pki.js';

export const ADMIN_USER = 'fairlead-admin';

const COMMAND_TIMEOUT_MS = 120_000;

/** Keys of a Gitea, made once: a restart keeps them, so clients go on trusting it. */
export async function ensureGiteaKeys(dataDir: string): Promise<{ caPem: string; sshHostKey: string }> {
  const dir = join(dataDir, 'pki');
  if (!(await stat(dir).catch(() => undefined))) {
    const temporary = `${dir}.new`;
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    await createAuthority(temporary);
    await issueServing(temporary, { dir: temporary, file: 'serving', name: 'localhost', ip: '127.0.0.1' });
    const { privateKey } = generateKeyPairSync('ed25519');
    const secrets = {
      'ssh-host-key': privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      'secret-key': randomBytes(32).toString('base64url'),
      'internal-token': randomBytes(48).toString('base64url'),
    };
    for (const [file, text] of Object.entries(secrets)) await writeFile(join(temporary, file), text, { mode: 0o600 });
    await rename(temporary, dir);
  }
  const [caPem, hostKeyPem] = await Promise.all(
    ['ca.crt', 'ssh-host-key'].map((file) => readFile(join(dir, file), 'utf8')),
  );
  return { caPem: caPem!, sshHostKey: openSshPublicKey(hostKeyPem!) };
}

export interface GiteaCommand {
  readonly path: string;
  readonly configPath: string;
  readonly dataDir: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes the database and the administrator, whose token is in `admin-token` (mode 0600) from then on. Gitea makes the password,
 * which nobody keeps, and the token: no secret is a process argument.
 */
export async function ensureAdmin(command: GiteaCommand): Promise<string> {
  const tokenPath = join(command.dataDir, 'admin-token');
  const before = await readFile(tokenPath, 'utf8').catch(() => undefined);
  await run(command, ['migrate']);
  if (before !== undefined) return before;
  const user = ['admin', 'user'];
  const email = `${ADMIN_USER}@fairlead.invalid`;
  const listed = await run(command, [...user, 'list', '--admin']);
  if (!listed.includes(ADMIN_USER)) {
    const who = ['--admin', '--username', ADMIN_USER, '--email', email];
    await run(command, [...user, 'create', ...who, '--random-password', '--must-change-password=false']);
  }
  const token = await newToken(command);
  await writeFile(`${tokenPath}.new`, token, { mode: 0o600 });
  await rename(`${tokenPath}.new`, tokenPath);
  return token;
}

/** On a busy machine Gitea was seen to end well without a token, once in some hundred times. */
async function newToken(command: GiteaCommand): Promise<string> {
  for (let attempt = 0; attempt < 3; attempt++) {
    // A name of its own: a start that ended before the token was kept must not stand in the way of the next.
    const name = `testbed-${randomBytes(4).toString('hex')}`;
    const what = ['--username', ADMIN_USER, '--token-name', name, '--scopes', 'all', '--raw'];
    const output = await run(command, ['admin', 'user', 'generate-access-token', ...what]);
    const token = output.split('\n').find((line) => /^[0-9a-f]{40}$/u.test(line.trim()));
    if (token !== undefined) return token.trim();
  }
  throw new TestbedError('gitea printed no access token');
}

/** Nothing of the caller's environment but where programs are: Git's configuration of this user is not the server's. */
export function giteaEnv(dataDir: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: join(dataDir, 'home'),
    USER: process.env['USER'],
    TMPDIR: process.env['TMPDIR'],
    GIT_CONFIG_NOSYSTEM: '1',
    GITEA_WORK_DIR: dataDir,
    ...(process.getuid?.() === 0 ? { GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT: 'true' } : {}),
  };
}

async function run({ path, configPath, dataDir, signal }: GiteaCommand, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--config', configPath, ...args], {
      cwd: dataDir,
      env: giteaEnv(dataDir),
      timeout: COMMAND_TIMEOUT_MS,
      ...(signal ? { signal } : {}),
    });
    return stdout;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new TestbedError(`gitea ${args.slice(0, 3).join(' ')} failed: ${messageOf(cause)}`, { cause });
  }
}

/** `ssh-ed25519 AAAA…`, as it stands in known_hosts. */
function openSshPublicKey(privatePem: string): string {
  const spki = createPublicKey(privatePem).export({ format: 'der', type: 'spki' });
  const parts = [Buffer.from('ssh-ed25519'), spki.subarray(-32)];
  const blob = Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(part.length);
      return [length, part];
    }),
  );
  return `ssh-ed25519 ${blob.toString('base64')}`;
}

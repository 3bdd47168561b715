import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '@fairlead/errors';
import * as z from 'zod/mini';
import { failure } from '../failure.js';
import { parseJson } from './parse-json.js';

const Said = z.string().check(z.minLength(1));

/** Where somebody logs in: an issuer as the API names it, as far as it is asked again when the login is renewed. */
const KnownIssuer = z.object({
  name: Said,
  url: z.url(),
  clientId: Said,
  /** PEM; absent where the system's own authorities do. */
  certificateAuthority: z.optional(z.string()),
});
export type KnownIssuer = z.infer<typeof KnownIssuer>;

/** What a login by an issuer has besides its token. Holds secrets. */
const IssuedLogin = z.object({
  issuer: KnownIssuer,
  /** Of the token, by the clock of this machine, and by the server's. */
  obtainedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  /** What the server takes beside a new ID token when the login is renewed, until this end. */
  session: Said,
  sessionEndsAt: z.iso.datetime(),
  /** The issuer's; absent: the login cannot be renewed, and ends with its token. */
  refreshToken: z.optional(Said),
  /** A renewal failed: none is tried before this. */
  retryAt: z.optional(z.iso.datetime()),
});
export type IssuedLogin = z.infer<typeof IssuedLogin>;

const Version1 = z.object({
  version: z.literal(1),
  server: z.url(),
  token: Said,
  user: z.string(),
  /** PEM; absent where the system's own authorities do. */
  certificateAuthority: z.optional(z.string()),
  /** Where it was read from: only to be shown. */
  certificateAuthorityFile: z.optional(z.string()),
});
const Version2 = z.extend(Version1, {
  version: z.literal(2),
  /** Absent: `token` is an API token. */
  issued: z.optional(IssuedLogin),
});
const StoredLogin = z.discriminatedUnion('version', [Version1, Version2]);
/** One stored login. Holds a secret. */
export type Login = Omit<z.infer<typeof Version2>, 'version'>;

/** The file that holds the login, below the command's home. */
export function loginPath(home: string): string {
  return join(home, 'config.json');
}

/** The stored login; UNAUTHENTICATED if there is none. */
export async function loadLogin(home: string): Promise<Login> {
  const login = await findLogin(home);
  if (login) return login;
  throw failure(
    'UNAUTHENTICATED',
    'you are not logged in',
    'fairlead login --server https://HOST:PORT --ca-file ROOT.pem',
  );
}

/** The stored login, if any. */
export async function findLogin(home: string): Promise<Login | undefined> {
  const text = await readFile(loginPath(home), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw failure('INTERNAL', `cannot read ${loginPath(home)}: ${error.message}`, 'check who owns it', error);
  });
  if (text === undefined) return undefined;
  const login = readLogin(text);
  if (login) return login;
  throw failure('INVALID_ARGUMENT', `${loginPath(home)} is not a login`, 'fairlead logout, then fairlead login again');
}

/** A login as this version of the command or an older one wrote it; undefined for what is none. */
export function readLogin(text: string): Login | undefined {
  const parsed = StoredLogin.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { version: _version, ...login } = parsed.data;
  return login;
}

/** Keeps the login for its owner only: folder 0700, file 0600. */
export async function saveLogin(home: string, login: Login): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  await chmod(home, 0o700);
  await writePrivateFile(loginPath(home), `${JSON.stringify(Version2.parse({ version: 2, ...login }), null, 2)}\n`);
}

/** Forgets it; false if there was none. */
export async function removeLogin(home: string): Promise<boolean> {
  try {
    await rm(loginPath(home));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Writes a file for its owner only, as `writeAtOnce`. */
export function writePrivateFile(path: string, text: string): Promise<void> {
  return writeAtOnce(path, text, 0o600);
}

/** Writes a file at once: readers see the old text or the new, never half of it. INTERNAL if it cannot be written. */
export async function writeAtOnce(path: string, text: string, mode: number): Promise<void> {
  const temporary = join(dirname(path), `.${randomUUID()}.tmp`);
  try {
    await writeFile(temporary, text, { mode: mode & 0o600, flag: 'wx', flush: true });
    await chmod(temporary, mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw failure(
      'INTERNAL',
      `cannot write ${path}: ${messageOf(error)}`,
      'check the folder and its permissions',
      error,
    );
  }
}

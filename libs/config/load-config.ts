import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { FairleadError, messageOf } from '@fairlead/errors';
import { z } from 'zod';

/** A string that must never be printed: `String(secret)`, JSON and inspect show only that there is one. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it where it is used, not earlier. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }
}

/**
 * A schema for a secret read from a file named by the variable, so that it is in no environment and no argument list. Refuses a file
 * that others than its owner can read (`isPrivate`).
 */
export const secretFile = z.string().transform((path, context) => {
  try {
    return new Secret(readPrivate(path).trim());
  } catch (error) {
    const message = error instanceof FairleadError ? error.message : `cannot read the file: ${messageOf(error)}`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }
});

function readPrivate(path: string): string {
  const file = openSync(path, 'r');
  try {
    const access = fstatSync(file);
    if (!isPrivate(access)) {
      throw new FairleadError(
        'INVALID_ARGUMENT',
        `others can read the file (mode ${shownMode(access)}): run chmod 600 on it`,
      );
    }
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

export const port = z.coerce.number().int().min(0).max(65_535);

/** `host:port`; the host may be an IPv6 address in brackets. */
export const hostPort = z.string().regex(/^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):\d{1,5}$/, 'expected host:port');

/** Its two parts; an IPv6 address loses its brackets. */
export function splitHostPort(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(':');
  return { host: text.slice(0, at).replaceAll(/[[\]]/g, ''), port: Number(text.slice(at + 1)) };
}

/** A DNS name of two labels or more (RFC 1123, section 2.1), made lower case; `.` before it or behind it is left out. */
export const dnsDomain = z
  .string()
  .transform((text) => text.toLowerCase().replaceAll(/^\.|\.$/g, ''))
  .pipe(
    z
      .string()
      .max(253)
      .regex(
        /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/,
        'expected a DNS name, like k.example.com',
      ),
  );

/** Items separated by commas, blanks around them ignored. */
export const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

/** IP addresses and blocks of them (CIDR), separated by commas. Not everybody: a block of all addresses names nobody. */
export const networkList = commaList.pipe(
  z.array(z.string().refine(isNetwork, 'expected addresses or blocks of them, like 10.0.0.5 or 10.1.0.0/24')),
);

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  if (prefix === undefined) return true;
  return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32);
}

/**
 * Reads a configuration from environment variables. Variables the schema does not name are ignored; an empty one counts
 * as absent. Throws one INVALID_ARGUMENT error that lists every problem, one a line.
 */
export function loadConfig<Schema extends z.ZodObject>(
  schema: Schema,
  env: Readonly<Record<string, string | undefined>>,
): z.output<Schema> {
  const names = Object.keys(schema.shape);
  const present = names.filter((name) => env[name] !== undefined && env[name] !== '');
  const parsed = schema.safeParse(Object.fromEntries(present.map((name) => [name, env[name]])));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => {
    const name = issue.path.join('.') || 'configuration';
    return `${name}: ${present.includes(String(issue.path[0] ?? name)) ? issue.message : 'is not set'}`;
  });
  throw new FairleadError('INVALID_ARGUMENT', `the configuration is not valid:\n  ${problems.join('\n  ')}`);
}

/** The configuration as it may be logged. */
export function printable(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // JSON has no bigint, such as an address block is kept in.
  const plain = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
  return JSON.parse(JSON.stringify(config, plain)) as Record<string, unknown>;
}

const [OTHERS, GROUP_BUT_READ, GROUP_READ] = [0o007, 0o030, 0o040];

/** What `stat` says of a file. */
export interface FileAccess {
  readonly mode: number;
  readonly uid: number;
}

/**
 * May only its owner read and change this file? A group may read one that belongs to root all the same: so a Secret is mounted
 * into a pod whose user is not root.
 */
export function isPrivate({ mode, uid }: FileAccess): boolean {
  return (mode & (OTHERS | GROUP_BUT_READ | (uid === 0 ? 0 : GROUP_READ))) === 0;
}

/** Its permissions, for people: `644`. */
export function shownMode({ mode }: FileAccess): string {
  return (mode & 0o777).toString(8);
}

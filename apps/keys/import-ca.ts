import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { parseArgs, promisify } from 'node:util';
import type { Logger } from '@fairlead/observability';
import { FairleadError, messageOf } from '@fairlead/errors';
import { importCa, raiseTrust, requestIssuing, type ImportedFiles } from '@fairlead/keys';
import { readCaCertificate, splitPem, spkiPin } from '@fairlead/pki';
import { withDatabase } from '@fairlead/service';
import { SCHEMA, caOptions } from './ca-options.js';
import type { Config } from './config.js';

const MAX_FILE_BYTES = 65_536;
const OPENSSL_TIMEOUT_MS = 30_000;
const USAGE =
  'import-ca --root root.pem --issuing issuing.pem [--key issuing.key] [--root-key root.key] [--cross cross.pem], or import-ca --pkcs12 file --password-file file [--cross cross.pem]';

/** `fairlead-keys import-ca`: takes in a CA that was made elsewhere, before the first start or as the next root. */
export async function importCommand(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const files = await readFiles(process.argv.slice(3));
  await withDatabase(SCHEMA, config, logger, signal, async (database) => {
    const imported = await importCa(caOptions(config, { database, logger, onCommitted: () => undefined }), files);
    logger.info('ca.imported', { as: imported, pin: spkiPin(files.rootPem) });
  });
}

/** `fairlead-keys issuing-csr --out FILE`: a request that an offline root signs; its key is made, and stays, here. */
export async function issuingCsrCommand(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const { out } = parse(process.argv.slice(3), { out: { type: 'string' } }, 'issuing-csr --out issuing.csr');
  if (!out) throw invalid('usage: issuing-csr --out issuing.csr');
  await withDatabase(SCHEMA, config, logger, signal, async (database) => {
    const csr = await requestIssuing(caOptions(config, { database, logger, onCommitted: () => undefined }));
    await writeFile(out, csr, { flag: 'wx' }).catch((error: unknown) => {
      throw invalid(`--out ${out}: ${messageOf(error)}`);
    });
    logger.info('ca.issuing_requested', { out });
  });
}

/** `fairlead-keys raise-trust --by N`: the same roots under a higher version. */
export async function raiseTrustCommand(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const usage = 'raise-trust --by NUMBER';
  const { by } = parse(process.argv.slice(3), { by: { type: 'string' } }, usage);
  if (by === undefined) throw invalid(`usage: ${usage}`);
  await withDatabase(SCHEMA, config, logger, signal, async (database) => {
    const version = await raiseTrust(caOptions(config, { database, logger, onCommitted: () => undefined }), Number(by));
    logger.info('ca.trust_raised', { version });
  });
}

async function readFiles(args: readonly string[]): Promise<ImportedFiles> {
  const text = { type: 'string' } as const;
  const names = {
    root: text,
    issuing: text,
    key: text,
    'root-key': text,
    cross: text,
    pkcs12: text,
    'password-file': text,
  };
  const given = parse(args, names, USAGE);
  const crossPem = given['cross'] ? await readCertificate('cross', given['cross']) : null;
  if (given['pkcs12'] && given['password-file'] && !given['root'] && !given['issuing'] && !given['key']) {
    return { ...(await readPkcs12(given['pkcs12'], given['password-file'])), crossPem };
  }
  if (!given['root'] || !given['issuing'] || given['pkcs12']) throw invalid(`usage: ${USAGE}`);
  return {
    rootPem: await readCertificate('root', given['root']),
    issuingPem: await readCertificate('issuing', given['issuing']),
    issuingKeyPem: given['key'] ? await readKey('key', given['key']) : null,
    rootKeyPem: given['root-key'] ? await readKey('root-key', given['root-key']) : null,
    crossPem,
  };
}

function parse(
  args: readonly string[],
  options: Record<string, { type: 'string' }>,
  usage: string,
): Record<string, string | undefined> {
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw invalid(`${messageOf(error)}; usage: ${usage}`);
  }
}

async function readCertificate(name: string, path: string): Promise<string> {
  return oneBlock(name, path, (await readOnce(name, path)).toString('latin1'), /-----BEGIN CERTIFICATE-----/);
}

async function readKey(name: string, path: string): Promise<string> {
  await assertPrivate(name, path);
  return oneBlock(name, path, (await readOnce(name, path)).toString('latin1'), /-----BEGIN (EC )?PRIVATE KEY-----/);
}

/** A file may hold parameters or a remark beside it, but not two of them. */
function oneBlock(name: string, path: string, text: string, kind: RegExp): string {
  const [block, ...others] = splitPem(text).filter((candidate) => kind.test(candidate));
  if (block && others.length === 0) return block;
  const hint = /ENCRYPTED/.test(text) ? ' that is not encrypted (use PKCS#12 for that)' : '';
  throw invalid(`--${name} ${path}: it does not hold exactly one PEM block of its kind${hint}`);
}

/**
 * The decades of ways to encrypt a PKCS#12 file are OpenSSL's business. Its password is read by OpenSSL itself, and what it decrypts
 * comes through a pipe: neither is ever an argument or a file.
 */
async function readPkcs12(path: string, passwordFile: string): Promise<Omit<ImportedFiles, 'crossPem'>> {
  for (const [name, file] of [
    ['pkcs12', path],
    ['password-file', passwordFile],
  ] as const)
    await assertPrivate(name, file);
  const run = promisify(execFile);
  const args = ['pkcs12', '-in', path, '-passin', `file:${passwordFile}`, '-nodes'];
  const limits = { timeout: OPENSSL_TIMEOUT_MS, maxBuffer: MAX_FILE_BYTES, encoding: 'latin1' } as const;
  const output = await run('openssl', args, limits).catch((error: unknown) => {
    throw invalid(`--pkcs12 ${path}: ${whyNot(error)}`);
  });
  return sortOut(path, splitPem(output.stdout));
}

/** Never what OpenSSL wrote to its standard output. */
function whyNot(error: unknown): string {
  const { code, stderr } = error as { code?: unknown; stderr?: unknown };
  if (code === 'ENOENT')
    return 'the program openssl is needed to read it, and is not there; convert it to PEM elsewhere';
  if (typeof stderr === 'string' && /invalid password|mac verify/i.test(stderr)) return 'the password is another one';
  return 'OpenSSL cannot read it';
}

/** The certificate whose key is in the bundle issues; the one that certified itself is the root. */
function sortOut(path: string, blocks: readonly string[]): Omit<ImportedFiles, 'crossPem'> {
  const keys = blocks.filter((block) => /-----BEGIN (EC )?PRIVATE KEY-----/.test(block));
  const certificates = blocks.filter((block) => /-----BEGIN CERTIFICATE-----/.test(block));
  const [issuingKeyPem] = keys;
  const root = certificates.find((pem) => readCaCertificate(pem).selfSigned);
  const [issuing, ...others] = certificates.filter((pem) => pem !== root);
  if (issuingKeyPem && keys.length === 1 && root && issuing && others.length === 0) {
    return { rootPem: root, issuingPem: issuing, issuingKeyPem, rootKeyPem: null };
  }
  throw invalid(
    `--pkcs12 ${path}: it is to hold the issuing CA with its key, and its root; it has ${certificates.length} certificates and ${keys.length} keys`,
  );
}

/** The same that is asked of every secret: nobody but its owner may read it. */
async function assertPrivate(name: string, path: string): Promise<void> {
  const { mode } = await stat(path).catch((error: unknown) => {
    throw invalid(`--${name} ${path}: ${messageOf(error)}`);
  });
  if ((mode & 0o077) !== 0) throw invalid(`--${name} ${path}: others can read it; run chmod 600 on it`);
}

async function readOnce(name: string, path: string): Promise<Buffer> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw invalid(`--${name} ${path}: ${messageOf(error)}`);
  });
  if (bytes.length > MAX_FILE_BYTES) throw invalid(`--${name} ${path}: it is larger than ${MAX_FILE_BYTES} bytes`);
  return bytes;
}

function invalid(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', why);
}

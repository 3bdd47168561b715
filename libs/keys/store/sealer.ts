import { createHash, randomBytes } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { MASTER_KEY_BYTES, sealBytes, unreadable, unsealBytes } from '../domain/sealing.js';

/** A data key under a master key. */
export interface WrappedKey {
  /** The master key, its version included: stands in clear beside what it sealed. At most 255 bytes. */
  readonly keyName: string;
  /** At most 65,535 bytes. */
  readonly bytes: Uint8Array;
}

/**
 * Encrypts data keys, of 32 bytes each, with a master key. To keep that key in a KMS, implement this by the KMS's own encrypt and
 * decrypt, with `context` as its additional data. Each call has a deadline, and throws UNAVAILABLE while the KMS is away.
 */
export interface KeyEncryption {
  /** The name of the key that `wrap` uses now. */
  current(): Promise<string>;
  wrap(dataKey: Uint8Array, context: string): Promise<WrappedKey>;
  /** May it know this key? Null: what was sealed before keys had names, by a master key in memory. */
  opens(keyName: string | null): boolean;
  /** INVALID_ARGUMENT for another master key, another context, or changed bytes. */
  unwrap(
    wrapped: Omit<WrappedKey, 'keyName'> & { readonly keyName: string | null },
    context: string,
  ): Promise<Uint8Array>;
}

/** Keeps secrets that only this installation's master keys open. */
export interface Sealer {
  /** The name of the master key that seals now. */
  current(): Promise<string>;
  /** `context` names what it is; it opens under the same name only. */
  seal(secret: string, context: string): Promise<Buffer>;
  /** INVALID_ARGUMENT for another master key, another context, or changed bytes. */
  unseal(sealed: Uint8Array, context: string): Promise<string>;
}

/** Of what is sealed here. 2 has no name of the master key; 1 was sealed by a master key directly. */
const VERSION = 3;
const WITHOUT_NAME = 2;
const DIRECT = 1;

/**
 * Each secret has a data key of its own, which stands wrapped before it: version, length and name of the master key, length of the wrapped
 * key, that key, sealed secret. `seals` wraps all that is sealed from now on; it and `others` open what stands already.
 */
export function envelopeSealer(seals: KeyEncryption, others: readonly KeyEncryption[] = []): Sealer {
  const all = [seals, ...others];
  return {
    current: () => seals.current(),
    async seal(secret, context) {
      const dataKey = randomBytes(MASTER_KEY_BYTES);
      const wrapped = await seals.wrap(dataKey, context);
      return Buffer.concat([header(wrapped), wrapped.bytes, sealBytes(dataKey, Buffer.from(secret), context)]);
    },
    async unseal(sealed, context) {
      const { keyName, bytes, secret } = takeApart(Buffer.from(sealed));
      const able = all.filter((one) => one.opens(keyName));
      if (able.length === 0) throw notConfigured(keyName);
      // Version 1 is what a wrapped key is: the master key's own work.
      const dataKey = await firstThatOpens(able, (one) => one.unwrap({ keyName, bytes }, context));
      return Buffer.from(secret === null ? dataKey : unsealBytes(dataKey, secret, context)).toString('utf8');
    },
  };
}

/** By a master key in memory, named by its digest. It opens what was sealed before there were data keys, or names, too. */
export function localEncryption(masterKey: Buffer): KeyEncryption {
  const keyName = `local:${createHash('sha256').update('fairlead master key\0').update(masterKey).digest('hex').slice(0, 16)}`;
  return {
    current: async () => keyName,
    wrap: async (dataKey, context) => ({ keyName, bytes: sealBytes(masterKey, dataKey, context) }),
    opens: (name) => name === null || name === keyName,
    unwrap: async ({ bytes }, context) => unsealBytes(masterKey, bytes, context),
  };
}

/** The name of the master key of each sealed value of a column, null where it has none, as SQL. */
export function sealedBySql(column: string): string {
  return `(case when get_byte(${column}, 0) = ${VERSION}
    then convert_from(substring(${column} from 3 for get_byte(${column}, 1)), 'UTF8') end)`;
}

function header({ keyName, bytes }: WrappedKey): Buffer {
  const name = Buffer.from(keyName);
  const lengths = Buffer.alloc(2);
  lengths.writeUInt16BE(bytes.length, 0);
  return Buffer.concat([Buffer.of(VERSION, byteLength(name)), name, lengths]);
}

function byteLength({ length }: Buffer): number {
  if (length > 0 && length <= 255) return length;
  throw new FairleadError('INTERNAL', `the name of a master key has ${length} bytes; 1 to 255 are possible`);
}

interface Parts {
  readonly keyName: string | null;
  readonly bytes: Buffer;
  /** Null: `bytes` is the secret itself, sealed by the master key. */
  readonly secret: Buffer | null;
}

function takeApart(sealed: Buffer): Parts {
  const [version, nameLength = 0] = sealed;
  if (version === DIRECT) return { keyName: null, bytes: sealed, secret: null };
  const nameEnd = version === VERSION ? 2 + nameLength : 1;
  if ((version !== VERSION && version !== WITHOUT_NAME) || sealed.length < nameEnd + 2) throw unreadable();
  const secretAt = nameEnd + 2 + sealed.readUInt16BE(nameEnd);
  return {
    keyName: version === VERSION ? sealed.toString('utf8', 2, nameEnd) : null,
    bytes: sealed.subarray(nameEnd + 2, secretAt),
    secret: sealed.subarray(secretAt),
  };
}

/** What has no name was sealed by any of the keys in memory. */
async function firstThatOpens<K, T>(keys: readonly K[], open: (key: K) => Promise<T>): Promise<T> {
  let failure: unknown;
  for (const key of keys) {
    try {
      return await open(key);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function notConfigured(keyName: string | null): FairleadError {
  const printable = keyName?.replaceAll(/[^\x21-\x7e]/g, '?') ?? 'a file or FAIRLEAD_MASTER_KEY';
  return new FairleadError(
    'INVALID_ARGUMENT',
    `something in the database was sealed with another master key (${printable}), which is not in the settings of \`keys\`: ` +
      'set it beside the one that seals, or restore the master key that belongs to this database',
  );
}

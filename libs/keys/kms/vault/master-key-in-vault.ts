import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';
import { unreadable } from '../../domain/sealing.js';
import type { KeySource } from '../../store/master-key.js';
import type { KeyEncryption } from '../../store/sealer.js';
import { VaultClient, type VaultAnswer, type VaultClientOptions } from './vault-client.js';

export interface VaultKeyOptions extends VaultClientOptions {
  /** Where the transit engine is mounted: letters, digits, `.`, `_`, `-` and `/`, at most 64, no dot at the beginning of a part. */
  readonly mount: string;
  /** A key of it with additional data (`aes256-gcm96`, for one): letters, digits, `.`, `_` and `-`, at most 64, no dot at first. */
  readonly key: string;
}

const KeyInfo = z.object({
  type: z.string(),
  derived: z.boolean().default(false),
  exportable: z.boolean(),
  latest_version: z.number().int().min(1),
});
/** `vault:v3:` and base64. */
const Encrypted = z.object({
  ciphertext: z
    .string()
    .max(4_096)
    .regex(/^vault:v\d{1,9}:/),
});
const Decrypted = z.object({ plaintext: z.base64().max(4_096) });
const AEAD = new Set(['aes128-gcm96', 'aes256-gcm96', 'chacha20-poly1305']);

/**
 * A key of Vault's transit engine, which encrypts data keys with the context as `associated_data`. Its name says the version that did; after
 * a rotation in Vault the newest one does, and older ones are read while Vault keeps them (`min_decryption_version`). What any
 * other key of the same mount sealed is opened by that key.
 */
export function masterKeyInVault(options: VaultKeyOptions): KeySource {
  const client = new VaultClient(options);
  return { open: () => openKey(client, options) };
}

async function openKey(client: VaultClient, { mount, key }: VaultKeyOptions): Promise<KeyEncryption> {
  const prefix = `vault:${mount}/`;
  const named = (version: string | number): string => `${prefix}${key}:v${version}`;
  const keyIn = (name: string | null): RegExpExecArray | null =>
    name?.startsWith(prefix)
      ? /^([A-Za-z0-9_-][A-Za-z0-9._-]{0,63}):v(\d{1,9})$/.exec(name.slice(prefix.length))
      : null;
  const ask = (what: string, by: string, body?: unknown): Promise<VaultAnswer> =>
    client.request(body ? 'POST' : 'GET', `/v1/${mount}/${what}/${by}`, body);
  const current = async (): Promise<string> => named(usable(await ask('keys', key), mount, key).latest_version);
  // Wrong settings are told at the start, not when the first secret is sealed.
  await current();
  return {
    current,
    async wrap(dataKey, context) {
      const answer = await ask('encrypt', key, { plaintext: toBase64(dataKey), associated_data: toBase64(context) });
      const { ciphertext } = parse(Encrypted, granted(answer, mount, key));
      return { keyName: named(ciphertext.split(':')[1]?.slice(1) ?? ''), bytes: Buffer.from(ciphertext) };
    },
    opens: (name) => keyIn(name) !== null,
    async unwrap({ keyName, bytes }, context) {
      const [, by, version] = keyIn(keyName) ?? [];
      const ciphertext = Buffer.from(bytes).toString('latin1');
      if (by === undefined || !ciphertext.startsWith(`vault:v${version}:`)) throw unreadable();
      const answer = await ask('decrypt', by, { ciphertext, associated_data: toBase64(context) });
      if (answer.status === 400) throw refused(answer.errors, mount, by);
      return Buffer.from(parse(Decrypted, granted(answer, mount, by)).plaintext, 'base64');
    },
  };
}

/** INVALID_ARGUMENT for a key that does not bind what it encrypts to a context, or that can leave Vault. */
function usable(answer: VaultAnswer, mount: string, key: string): z.output<typeof KeyInfo> {
  const info = parse(KeyInfo, granted(answer, mount, key));
  if (!AEAD.has(info.type) || info.derived) {
    throw wrong(
      mount,
      key,
      `it is ${info.derived ? 'derived' : `of type ${info.type}`}: make one of type aes256-gcm96`,
    );
  }
  if (info.exportable) throw wrong(mount, key, 'it is exportable: make one that cannot leave Vault');
  return info;
}

function granted(answer: VaultAnswer, mount: string, key: string): unknown {
  if (answer.status === 200) return answer.data;
  throw wrong(mount, key, answer.errors || 'there is no such key, or no transit engine at this mount');
}

/** Vault has no status of its own for any of these. */
function refused(errors: string, mount: string, key: string): FairleadError {
  return new FairleadError(
    'INVALID_ARGUMENT',
    `Vault's key ${mount}/${key} does not open what it is said to have sealed (${errors}): it was sealed with another master key, was changed, ` +
      'or by a version that Vault does not read any more (min_decryption_version)',
  );
}

function parse<T>(schema: z.ZodType<T>, data: unknown): T {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new FairleadError('PROTOCOL_ERROR', 'what answers for the master key is not the transit engine of a Vault');
}

function wrong(mount: string, key: string, why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `Vault's key ${mount}/${key} cannot be the master key: ${why}`);
}

function toBase64(data: Uint8Array | string): string {
  return Buffer.from(data as string).toString('base64');
}

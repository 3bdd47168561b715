import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { GitOpsSpec } from '@fairlead/desired-state';
import { OWN } from '../names.js';
import type { OwnObjects } from '../state/own-objects.js';

export interface DeployKey extends SshKeyPair {
  readonly number: number;
}

/**
 * The cluster's keys that are desired, made where there is none yet; those that are desired no more are deleted. They stand in one Secret
 * of the installer's namespace, and nowhere else but in the Secret of the source that uses one. CONFLICT if another installer wrote it.
 */
export async function deployKeys(own: OwnObjects, { current, next }: GitOpsSpec['deployKey']): Promise<DeployKey[]> {
  const { values, version } = await own.readSecret(OWN.keys);
  const numbers = next === null || next === current ? [current] : [current, next];
  const keys = numbers.map((number) => ({ number, ...(held(values, number) ?? createSshKey()) }));
  const desired = Object.fromEntries(
    keys.flatMap(({ number, privateKey, publicKey }) => [
      [`${number}.key`, privateKey],
      [`${number}.pub`, publicKey],
    ]),
  );
  const same =
    Object.keys(values).length === Object.keys(desired).length && numbers.every((number) => held(values, number));
  // Kept before it is told: a public key in a report that nobody has the private half of would be added for nothing.
  if (!same) await own.writeSecret(OWN.keys, desired, version);
  return keys;
}

function held(values: Readonly<Record<string, string>>, number: number): SshKeyPair | null {
  const privateKey = values[`${number}.key`];
  const publicKey = values[`${number}.pub`];
  return privateKey === undefined || publicKey === undefined ? null : { privateKey, publicKey };
}

interface SshKeyPair {
  /** As `ssh-keygen` writes it: `-----BEGIN OPENSSH PRIVATE KEY-----`. */
  readonly privateKey: string;
  /** `ssh-ed25519 AAAA…`, without a comment. */
  readonly publicKey: string;
}

const TYPE = 'ssh-ed25519';
const MAGIC = Buffer.from('openssh-key-v1\0', 'latin1');
/** Of the cipher `none`. */
const BLOCK_BYTES = 8;
const LINE = 70;

/** A new ed25519 key pair. The private half is unencrypted: it stands in a Secret, for a program. */
export function createSshKey(): SshKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const seed = rawPart(privateKey.export({ format: 'jwk' }).d);
  const point = rawPart(publicKey.export({ format: 'jwk' }).x);
  return {
    privateKey: formatPrivateKey(seed, point, randomBytes(4)),
    publicKey: `${TYPE} ${publicBlob(point).toString('base64')}`,
  };
}

/**
 * The file that OpenSSH reads (PROTOCOL.key of its sources): magic, cipher, derivation and its options, how many keys, the public key,
 * and the private part with a check value twice and padding 1, 2, 3, …
 */
function formatPrivateKey(seed: Buffer, point: Buffer, check: Buffer): string {
  const secret = Buffer.concat([seed, point]);
  const plain = Buffer.concat([check, check, text(TYPE), lengthAnd(point), lengthAnd(secret), text('')]);
  const padding = Buffer.from(
    Array.from({ length: (BLOCK_BYTES - (plain.length % BLOCK_BYTES)) % BLOCK_BYTES }, (_, at) => at + 1),
  );
  const file = Buffer.concat([
    MAGIC,
    text('none'),
    text('none'),
    text(''),
    number(1),
    lengthAnd(publicBlob(point)),
    lengthAnd(Buffer.concat([plain, padding])),
  ]);
  const lines = file.toString('base64').match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
}

/** RFC 8709, section 4. */
function publicBlob(point: Buffer): Buffer {
  return Buffer.concat([text(TYPE), lengthAnd(point)]);
}

function rawPart(base64url: string | undefined): Buffer {
  return Buffer.from(base64url ?? '', 'base64url');
}

/** A `string` of RFC 4251, section 5. */
function lengthAnd(bytes: Buffer): Buffer {
  return Buffer.concat([number(bytes.length), bytes]);
}

function text(value: string): Buffer {
  return lengthAnd(Buffer.from(value, 'latin1'));
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

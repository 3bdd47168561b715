import { generateKeyPairSync, randomBytes } from 'node:crypto';

export interface SshKeyPair {
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

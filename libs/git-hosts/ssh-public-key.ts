import { createHash } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';

export interface SshPublicKey {
  readonly type: string;
  /** Type and base64, without a comment. */
  readonly text: string;
  /** `SHA256:…` without padding, as ssh-keygen shows it. */
  readonly fingerprint: string;
}

const LINE = /^([a-z0-9@.-]{1,64}) ([A-Za-z0-9+/]{1,4096}={0,2})(?: .{0,1000})?$/;
const ED25519_BYTES = 32;

/** One public key in OpenSSH's form (RFC 4253, section 6.6), or null. The comment is dropped. */
export function parseSshPublicKey(line: string): SshPublicKey | null {
  const [, type = '', base64 = ''] = LINE.exec(line.trim()) ?? [];
  const blob = Buffer.from(base64, 'base64');
  // Only what reads back as it stands: a decoder that drops what it does not know would let one key have many spellings.
  if (type === '' || blob.toString('base64') !== base64 || firstString(blob)?.toString('latin1') !== type) return null;
  const digest = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
  return { type, text: `${type} ${base64}`, fingerprint: `SHA256:${digest}` };
}

/** Of type ssh-ed25519, which is what a cluster makes. Throws INVALID_ARGUMENT. */
export function readClusterKey(line: string): SshPublicKey {
  const key = parseSshPublicKey(line);
  const blob = Buffer.from(key?.text.split(' ')[1] ?? '', 'base64');
  const wanted = 4 + 'ssh-ed25519'.length + 4 + ED25519_BYTES;
  if (key?.type !== 'ssh-ed25519' || blob.length !== wanted || blob.readUInt32BE(wanted - 36) !== ED25519_BYTES)
    throw new FairleadError('INVALID_ARGUMENT', 'a deploy key has to be an ssh-ed25519 public key');
  return key;
}

function firstString(blob: Buffer): Buffer | null {
  if (blob.length < 4) return null;
  const length = blob.readUInt32BE(0);
  return length <= blob.length - 4 ? blob.subarray(4, 4 + length) : null;
}

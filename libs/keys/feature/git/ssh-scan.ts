import { connect, type Socket } from 'node:net';
import { startDeadline } from '@fairlead/clock';
import { FairleadError, messageOf, oneLine } from '@fairlead/errors';
import { Client, type KexAlgorithm, type ServerHostKeyAlgorithm } from 'ssh2';

/** One connection for each: a server proves one key in a handshake. All that clusters know. */
const TYPES: readonly (readonly ServerHostKeyAlgorithm[])[] = [
  ['ssh-ed25519'],
  ['ecdsa-sha2-nistp256'],
  ['ecdsa-sha2-nistp384'],
  ['ecdsa-sha2-nistp521'],
  ['rsa-sha2-512', 'rsa-sha2-256'],
];

/** Without those in which the server chooses how much we have to compute. */
const KEY_EXCHANGES: readonly KexAlgorithm[] = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
  'diffie-hellman-group14-sha256',
];

/** For all of them together. */
const TIMEOUT_MS = 20_000;
/** Of one handshake; a real one takes about 3 KiB. */
const MAX_BYTES = 64 * 1_024;

export interface SshAddress {
  readonly sshHost: string;
  readonly sshPort: number;
}

/**
 * The keys that an SSH server shows, `TYPE BASE64`, each of which it proved to hold. Nobody logs in, and nothing is believed: whoever is
 * on the way could have answered. UNAVAILABLE, DEADLINE_EXCEEDED; PROTOCOL_ERROR for what is no SSH server, or has no key that we know.
 */
export async function scanSshHost(address: SshAddress, signal: AbortSignal, timeoutMs = TIMEOUT_MS): Promise<string[]> {
  const where = `${address.sshHost}:${address.sshPort}`;
  const late = (): FairleadError =>
    new FairleadError('DEADLINE_EXCEEDED', `${where} did not show its SSH keys in time`);
  const deadline = startDeadline(signal, timeoutMs, late);
  try {
    const shown: string[] = [];
    for (const algorithms of TYPES) {
      const key = await keyOfType(address, algorithms, deadline.signal);
      if (key) shown.push(`${typeOf(key)} ${key.toString('base64')}`);
    }
    if (shown.length > 0) return shown;
    throw new FairleadError('PROTOCOL_ERROR', `${where} shows no SSH key that clusters could use`);
  } finally {
    deadline.clear();
  }
}

/** Null: it has none of this type. */
async function keyOfType(
  { sshHost, sshPort }: SshAddress,
  serverHostKey: readonly ServerHostKeyAlgorithm[],
  signal: AbortSignal,
): Promise<Buffer | null> {
  signal.throwIfAborted();
  const sock = connect({ host: sshHost, port: sshPort });
  // Whoever waits for it hears of an error, too; here, that there is one at any time.
  sock.on('error', () => undefined);
  const abort = (): void => void sock.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await connected(sock, `${sshHost}:${sshPort}`);
    return await handshake(sock, serverHostKey);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    sock.destroy();
  }
}

function connected(sock: Socket, where: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void =>
      reject(new FairleadError('UNAVAILABLE', `${where} cannot be reached: ${messageOf(cause)}`, { cause }));
    sock.once('error', fail);
    sock.once('connect', () => {
      sock.off('error', fail);
      resolve();
    });
  });
}

/**
 * The server's key, once it has signed with it; null when there is no agreement on a type, which each end sees from what the other
 * offers. A connection that merely breaks off says nothing about keys.
 */
function handshake(sock: Socket, serverHostKey: readonly ServerHostKeyAlgorithm[]): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const client = new Client();
    let shown: Buffer | null = null;
    const hostVerifier = (key: Buffer): boolean => {
      shown = Buffer.from(key);
      return true;
    };
    sock.on('data', () => {
      if (sock.bytesRead > MAX_BYTES) sock.destroy();
    });
    // After the signature was checked.
    client.on('handshake', () => resolve(shown));
    client.on('error', (error: Error & { readonly level?: string }) => {
      if (error.level === 'handshake' && shown === null) resolve(null);
      else reject(failed(error));
    });
    client.on('close', () => reject(new FairleadError('UNAVAILABLE', 'the SSH server broke off the handshake')));
    client.connect({
      sock,
      username: 'git',
      hostVerifier,
      algorithms: { serverHostKey: [...serverHostKey], kex: [...KEY_EXCHANGES], compress: ['none'] },
      authHandler: () => false,
      // The caller's deadline counts.
      readyTimeout: 0,
    });
  });
}

/** `level`: `client-socket`, or where in the protocol it went wrong. */
function failed(cause: Error & { readonly level?: string }): FairleadError {
  const code = cause.level === 'handshake' || cause.level === 'protocol' ? 'PROTOCOL_ERROR' : 'UNAVAILABLE';
  return new FairleadError(code, `the SSH server did not finish the handshake: ${oneLine(messageOf(cause))}`, {
    cause,
  });
}

/** RFC 4253, section 6.6: a key begins with its type, as a string with its length before it. */
function typeOf(key: Buffer): string {
  return key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1');
}

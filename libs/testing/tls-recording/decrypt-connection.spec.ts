import { createCipheriv, createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { testAuthority } from '../test-authority.js';
import { decryptConnection, type RecordedConnection } from './decrypt-connection.js';
import { readKeyLog } from './key-log.js';
import { startRecordingRelay } from './recording-relay.js';
import { readRecords, type TlsRecord } from './records.js';
import { TrafficKeys, suiteOf } from './traffic-keys.js';

/** More than one record, and of no size that divides one. */
const QUESTION = Buffer.alloc(50_001, 'a question, ');
const ANSWER = Buffer.alloc(70_003, 'an answer, ');

interface Recorded {
  readonly recorded: RecordedConnection;
  readonly keyLog: string;
}

/** A real connection, both ends with a certificate: a question, an answer, and its end. */
async function record(options: { readonly ciphers?: string; readonly curves?: string } = {}): Promise<Recorded> {
  const authority = await testAuthority();
  const { privateKeyPem: key, chainPem: cert } = await authority.serving(['127.0.0.1']);
  const client = await authority.agent('0d0d7f0e-6d0e-4b5c-9a0c-3d9f6d1f0001');
  const ca = [...authority.roots];
  // Clients offer what they have a key share for; another curve makes the server ask again (HelloRetryRequest).
  const ecdhCurve = options.curves ?? 'auto';
  await using relay = await startRecordingRelay();
  const server = createServer({ key, cert, ca, requestCert: true, ecdhCurve }, (socket) => {
    let bytes = 0;
    socket.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes === QUESTION.length) socket.end(ANSWER);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  relay.leadTo(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [host = '', port = ''] = relay.address.split(':');
  const ciphers = options.ciphers === undefined ? {} : { ciphers: options.ciphers };
  const own = { key: client.privateKeyPem, cert: client.chainPem };
  const socket: TLSSocket = connect({ host, port: Number(port), ca, minVersion: 'TLSv1.3', ...ciphers, ...own });
  let keyLog = '';
  socket.on('keylog', (line: Buffer) => void (keyLog += line.toString()));
  socket.resume().write(QUESTION);
  await once(socket, 'close');
  await new Promise((resolve) => server.close(resolve));
  const [recorded] = relay.recorded();
  if (!recorded) throw new Error('nothing was recorded');
  return { recorded, keyLog };
}

describe('a recorded connection', () => {
  it.each(['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'])(
    'is decrypted whole: %s',
    async (ciphers) => {
      const { recorded, keyLog } = await record({ ciphers });
      expect(recorded.up.includes('a question')).toBe(false);
      const { up, down, handshake, restBytes } = decryptConnection(recorded, readKeyLog(keyLog));
      expect(up.equals(QUESTION)).toBe(true);
      expect(down.equals(ANSWER)).toBe(true);
      expect(restBytes).toBe(0);
      // A certificate, which TLS 1.3 encrypts.
      expect(handshake.includes('0d0d7f0e-6d0e-4b5c-9a0c-3d9f6d1f0001')).toBe(true);
    },
  );

  it('is decrypted where the server asks for another key share', async () => {
    const { recorded, keyLog } = await record({ curves: 'P-521' });
    expect(decryptConnection(recorded, readKeyLog(keyLog)).up.equals(QUESTION)).toBe(true);
  });

  it('is not decrypted without its secrets, with those of another, or if a byte is another', async () => {
    const { recorded, keyLog } = await record();
    expect(() => decryptConnection(recorded, readKeyLog(''))).toThrow(/no clientHandshake/);
    const wrong = keyLog.replaceAll(/ [0-9a-f]{4}([0-9a-f]+)\n/g, ' 0000$1\n');
    expect(() => decryptConnection(recorded, readKeyLog(wrong))).toThrow(/unable to authenticate/);
    const down = Buffer.from(recorded.down);
    down.writeUInt8(down.readUInt8(down.length - 1) ^ 1, down.length - 1);
    expect(() => decryptConnection({ ...recorded, down }, readKeyLog(keyLog))).toThrow(/unable to authenticate/);
  });

  it('that is cut says how much is missing its end', async () => {
    const { recorded, keyLog } = await record();
    const { up, restBytes } = decryptConnection(
      { ...recorded, up: recorded.up.subarray(0, 30_000) },
      readKeyLog(keyLog),
    );
    expect(QUESTION.subarray(0, up.length).equals(up)).toBe(true);
    expect(up.length).toBe(16_384);
    expect(restBytes).toBeGreaterThan(0);
  });

  it('that never came to anything encrypted needs no secrets', () => {
    const nothing = Buffer.alloc(0);
    expect(decryptConnection({ up: nothing, down: nothing }, readKeyLog(''))).toMatchObject({
      up: nothing,
      restBytes: 0,
    });
  });

  it('goes on after a KeyUpdate', async () => {
    const { recorded, keyLog } = await record({ ciphers: 'TLS_AES_128_GCM_SHA256' });
    const secret = /^SERVER_TRAFFIC_SECRET_0 \w+ (\w+)$/m.exec(keyLog)?.[1] ?? '';
    const before = recordsUnder(secret, recorded.down);
    expect(before).toBeGreaterThan(4);
    // Type 24, one byte, "update not requested"; what is behind it is under the next secret.
    const update = seal(secret, before, Buffer.from([24, 0, 0, 1, 0, 22]));
    const next = derived(Buffer.from(secret, 'hex'), 'traffic upd', 32).toString('hex');
    const more = [seal(next, 0, Buffer.from('more\x17\0\0')), seal(next, 1, Buffer.from(' and more\x17'))];
    const down = Buffer.concat([recorded.down, update, ...more]);
    const opened = decryptConnection({ ...recorded, down }, readKeyLog(keyLog));
    expect(opened.down.subarray(ANSWER.length).toString()).toBe('more and more');
  });
});

/** A record as the sender makes it (RFC 8446, section 5.2). */
function seal(secret: string, sequence: number, inner: Buffer): Buffer {
  const [key, nonce] = [derived(Buffer.from(secret, 'hex'), 'key', 16), derived(Buffer.from(secret, 'hex'), 'iv', 12)];
  nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ sequence) >>> 0, 8);
  const header = Buffer.from([23, 3, 3, 0, inner.length + 16]);
  const cipher = createCipheriv('aes-128-gcm', key, nonce).setAAD(header);
  return Buffer.concat([header, cipher.update(inner), cipher.final(), cipher.getAuthTag()]);
}

function derived(secret: Buffer, label: string, bytes: number): Buffer {
  const info = Buffer.concat([Buffer.from([0, bytes, label.length + 6]), Buffer.from(`tls13 ${label}\0\x01`)]);
  return Buffer.from(createHmac('sha256', secret).update(info).digest().subarray(0, bytes));
}

/** How many records at the end are under this secret: the first of them is opened by it, as its number 0. */
function recordsUnder(secret: string, bytes: Buffer): number {
  const opens = (record: TlsRecord): boolean => {
    try {
      new TrafficKeys(suiteOf(0x13_01), Buffer.from(secret, 'hex')).open(record);
      return true;
    } catch {
      return false;
    }
  };
  return readRecords(bytes).records.toReversed().findIndex(opens) + 1;
}

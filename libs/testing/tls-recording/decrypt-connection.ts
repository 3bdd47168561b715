import type { ConnectionSecrets, KeyLog } from './key-log.js';
import { CONTENT, HANDSHAKE, HandshakeMessages, cipherSuiteOf, clientRandomOf, readRecords } from './records.js';
import type { TlsRecord } from './records.js';
import { TrafficKeys, suiteOf } from './traffic-keys.js';

/** What went over one TCP connection, as it was on the wire: up from who dialled, down to it. */
export interface RecordedConnection {
  readonly up: Buffer;
  readonly down: Buffer;
}

/** What was said below TLS. */
export interface DecryptedConnection extends RecordedConnection {
  /** Handshake messages of both ends: certificates, tickets. */
  readonly handshake: Buffer;
  /** Of both ends: the beginnings of records that were still on their way. All else is in what is above. */
  readonly restBytes: number;
}

/**
 * Decrypts a recorded TLS 1.3 connection by the secrets that one of its ends logged (RFC 8446, sections 5 and 7). Throws if a
 * byte of a whole record cannot be decrypted: no secrets, another version, early data, bytes that were changed.
 */
export function decryptConnection(recorded: RecordedConnection, keyLog: KeyLog): DecryptedConnection {
  const up = readRecords(recorded.up);
  const down = readRecords(recorded.down);
  const restBytes = up.restBytes + down.restBytes;
  const isEncrypted = [...up.records, ...down.records].some(({ type }) => type === CONTENT.applicationData);
  // It ended before anything was encrypted.
  const keys = isEncrypted ? keysOf(up.records, down.records, keyLog) : undefined;
  const fromClient = readDirection(up.records, keys?.client);
  const fromServer = readDirection(down.records, keys?.server);
  const handshake = Buffer.concat([fromClient.handshake, fromServer.handshake]);
  return { up: fromClient.data, down: fromServer.data, handshake, restBytes };
}

interface DirectionKeys {
  readonly handshake: TrafficKeys;
  readonly application: TrafficKeys;
}

function keysOf(
  up: readonly TlsRecord[],
  down: readonly TlsRecord[],
  keyLog: KeyLog,
): { readonly client: DirectionKeys; readonly server: DirectionKeys } {
  const random = clientRandomOf(up);
  const suite = suiteOf(cipherSuiteOf(down));
  const secrets = keyLog.get(random) ?? {};
  const keys = (name: keyof ConnectionSecrets): TrafficKeys => {
    const secret = secrets[name];
    if (!secret) throw new Error(`the key log has no ${name} of the connection ${random.slice(0, 8)}…`);
    return new TrafficKeys(suite, secret);
  };
  return {
    client: { handshake: keys('clientHandshake'), application: keys('clientTraffic') },
    server: { handshake: keys('serverHandshake'), application: keys('serverTraffic') },
  };
}

function readDirection(
  records: readonly TlsRecord[],
  keys: DirectionKeys | undefined,
): { readonly data: Buffer; readonly handshake: Buffer } {
  const data: Buffer[] = [];
  const handshake: Buffer[] = [];
  const messages = new HandshakeMessages();
  let current = keys?.handshake;
  for (const record of records) {
    // Means nothing since TLS 1.3, and is always this one byte.
    if (record.type === CONTENT.changeCipherSpec && record.body.equals(Buffer.from([1]))) continue;
    const { type, content } = contentOf(record, current);
    if (type === CONTENT.applicationData) data.push(content);
    else if (type === CONTENT.handshake) {
      handshake.push(content);
      for (const message of messages.push(content)) {
        if (message.type === HANDSHAKE.finished) current = keys?.application;
        if (message.type === HANDSHAKE.keyUpdate) current?.update();
      }
    } else if (type !== CONTENT.alert) throw new Error(`there is a TLS record of type ${type}`);
  }
  return { data: Buffer.concat(data), handshake: Buffer.concat(handshake) };
}

/** Every encrypted record says that it is application data; what it is stands in it, last before its padding of zeros. */
function contentOf(record: TlsRecord, keys: TrafficKeys | undefined): { type: number; content: Buffer } {
  if (record.type !== CONTENT.applicationData || !keys) return { type: record.type, content: record.body };
  const inner = keys.open(record);
  let end = inner.length - 1;
  while (end > 0 && inner[end] === 0) end -= 1;
  return { type: inner.readUInt8(end), content: inner.subarray(0, end) };
}

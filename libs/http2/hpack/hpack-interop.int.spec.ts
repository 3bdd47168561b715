import { once } from 'node:events';
import * as http2 from 'node:http2';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { encodeHeaders, HpackDecoder, type HeaderField } from './index.js';
import { STATIC_TABLE } from './static-table.js';

/** The other side is nghttp2, by way of node:http2: it indexes, evicts, resizes and codes with Huffman as it likes. */

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const [HEADERS, SETTINGS, CONTINUATION] = [1, 4, 9];
const [END_STREAM, END_HEADERS, PADDED, PRIORITY] = [0x1, 0x4, 0x8, 0x20];
const limits = { maxListBytes: 1_000_000, maxFields: 1_000 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** The header blocks in what a client sent; a frame that is not whole yet ends the list. */
function headerBlocks(sent: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  let parts: Buffer[] = [];
  let offset = PREFACE.length;
  while (offset + 9 <= sent.length) {
    const length = sent.readUIntBE(offset, 3);
    const [type, flags] = [sent[offset + 3], sent[offset + 4] as number];
    const payload = sent.subarray(offset + 9, offset + 9 + length);
    offset += 9 + length;
    if (offset > sent.length || (type !== HEADERS && type !== CONTINUATION)) continue;
    const before = (flags & PADDED ? 1 : 0) + (flags & PRIORITY ? 5 : 0);
    parts.push(
      type === HEADERS ? payload.subarray(before, length - (flags & PADDED ? (payload[0] as number) : 0)) : payload,
    );
    if ((flags & END_HEADERS) === 0) continue;
    blocks.push(Buffer.concat(parts));
    parts = [];
  }
  return blocks;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** What nghttp2 makes of the requests, sent one after the other on one connection whose server gave these settings. */
async function blocksOf(requests: http2.OutgoingHttpHeaders[], settings: Buffer): Promise<Buffer[]> {
  let sent = Buffer.alloc(0);
  const blocks = Promise.withResolvers<Buffer[]>();
  const server = createServer((socket: Socket) => {
    socket.write(frame(SETTINGS, 0, 0, settings));
    socket.on('error', blocks.reject);
    socket.on('data', (data) => {
      sent = Buffer.concat([sent, data]);
      const whole = headerBlocks(sent);
      if (whole.length === requests.length) blocks.resolve(whole);
    });
  });
  const client = http2.connect(`http://127.0.0.1:${await listening(server)}`);
  cleanups.push(() => client.destroy());
  client.on('error', blocks.reject);
  await once(client, 'remoteSettings', { signal: AbortSignal.timeout(10_000) });
  for (const request of requests) client.request(request).on('error', () => undefined);
  return Promise.race([blocks.promise, deadline()]);
}

async function deadline(): Promise<never> {
  await once(AbortSignal.timeout(10_000), 'abort');
  throw new Error('the header blocks did not come');
}

const SINGLE_OR_FORBIDDEN = /^(:|access-control|transfer-encoding|host)/;

const oddRequests: http2.OutgoingHttpHeaders[] = [
  { ':path': '/', 'x-latin1': 'gr\u00fc\u00dfe \u00e9\u00ff', 'x-empty': '', 'x-tab': 'a\tb' },
  {
    ':path': '/index.html',
    'x-list': ['1', '2', '', '3'],
    cookie: ['a=b', 'c=d'],
    'x-latin1': 'gr\u00fc\u00dfe \u00e9\u00ff',
  },
  { ':path': `/${'%F0'.repeat(3_000)}`, 'x-long': 'abc {}<>^~|'.repeat(2_000), 'user-agent': '"\\@[]"' },
  { ':path': '/', authorization: 'Bearer secret', 'x-key': 'k', [http2.sensitiveHeaders]: ['x-key', 'authorization'] },
  Object.fromEntries(
    STATIC_TABLE.filter(([name]) => !SINGLE_OR_FORBIDDEN.test(name)).map(([name, value]) => [
      name,
      value || `some ${name}`,
    ]),
  ),
  ...Array.from({ length: 50 }, (_, at) => ({
    ':path': `/${at % 7}`,
    'x-at': `${at}`,
    [`x-${at % 11}`]: 'v'.repeat(at * 9),
  })),
];

/** As node:http2 sends them: its own pseudo-headers, then the others in order, a list as several fields. */
function fieldsOf(request: http2.OutgoingHttpHeaders): HeaderField[] {
  return Object.entries(request).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): HeaderField => [name, String(one)]),
  );
}

const sorted = (fields: readonly HeaderField[]): string[] => fields.map((field) => JSON.stringify(field)).sort();

it.each([
  ['the usual table', 4096, Buffer.alloc(0)],
  ['a table of 256 bytes', 256, Buffer.from('000100000100', 'hex')],
  ['no table', 0, Buffer.from('000100000000', 'hex')],
  ['a table of 64 KiB', 65_536, Buffer.from('000100010000', 'hex')],
])('decodes what nghttp2 sends with %s', async (_, tableBytes, settings) => {
  const blocks = await blocksOf(oddRequests, settings);
  const decoder = new HpackDecoder(limits, tableBytes);
  for (const [at, block] of blocks.entries()) {
    const decoded = decoder.decode(block);
    if (decoded.kind !== 'fields') throw new Error(decoded.kind);
    const own = decoded.fields.filter(([name]) => name !== ':method' && name !== ':scheme' && name !== ':authority');
    expect(sorted(own)).toEqual(sorted(fieldsOf({ ':path': '/', ...oddRequests[at] })));
  }
});

it('encodes what nghttp2 decodes', async () => {
  const fields: HeaderField[] = [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':path', '/some/path?x=1'],
    [':authority', 'example.test'],
    ['accept-encoding', 'gzip, deflate'],
    ['user-agent', 'x'.repeat(500)],
    ['authorization', 'Bearer secret'],
    ['cookie', 'a=b'],
    ['x-empty', ''],
    ['x-latin1', 'gr\u00fc\u00dfe'],
    ['x-same', '1'],
    ['x-same', '2'],
  ];
  const server = http2.createServer();
  const port = await listening(server);
  const raw = Promise.withResolvers<string[]>();
  server.on('stream', (stream, _headers, _flags, rawHeaders: string[]) => {
    raw.resolve(rawHeaders);
    stream.respond({ ':status': 204 }, { endStream: true });
  });
  const socket = connect(port, '127.0.0.1');
  cleanups.push(() => socket.destroy());
  socket.write(PREFACE);
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
  socket.write(frame(HEADERS, END_STREAM | END_HEADERS, 1, encodeHeaders(fields)));
  expect(await Promise.race([raw.promise, deadline()])).toEqual(fields.flat());
});

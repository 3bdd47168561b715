import {
  FLAG,
  FRAME,
  PREFACE,
  frame,
  goawayFrame,
  pingFrame,
  rstStreamFrame,
  settingsFrame,
  windowUpdateFrame,
} from '@fairlead/http2/testing';

/** What one kind of flood sends on each of its connections. */
export interface FloodKind {
  readonly name: string;
  /** Once, before everything else. */
  readonly first: Buffer;
  /** One step of the flood, over and over; `streamId` was never used before. */
  readonly step: (streamId: number) => Buffer;
  /** Each step is on streams of its own. */
  readonly isFresh: boolean;
  /** Absent: it reads what it is answered. */
  readonly readsNothing?: true;
  /** Byte by byte; a TLS record holds what was written while the one before it was on its way. */
  readonly isDribbled?: true;
  readonly protocol: 'h2' | 'http/1.1';
}

const NOTHING = Buffer.alloc(0);
const SERVICE = '/fairlead.link.v1.AgentLinkService';
const END = FLAG.endHeaders | FLAG.endStream;
const UNKNOWN_FRAME_TYPE = 0xfa;
/** The largest frame that a peer takes unless it says otherwise (RFC 9113, section 4.2). */
const LARGEST_FRAME_BYTES = 16_384;
const EMPTY_MESSAGE = Buffer.alloc(5);

/** HPACK (RFC 7541): an entry that from now on is one byte. `name` is short enough for a length of one byte, and so is `value`. */
function indexed(name: string, value: string): Buffer {
  const text = (each: string): Buffer => Buffer.concat([Buffer.from([each.length]), Buffer.from(each)]);
  return Buffer.concat([Buffer.from([0x40]), text(name), text(value)]);
}

const ENTRIES = (path: string): Buffer[] => [
  Buffer.from([0x83, 0x87]),
  indexed(':authority', 'gateway'),
  indexed(':path', path),
  indexed('content-type', 'application/grpc+proto'),
];
/** The same block once a peer has heard of its entries: five bytes, so that each byte of the flood asks for the most. */
const AGAIN = Buffer.from([0x83, 0x87, 0x80 | 64, 0x80 | 63, 0x80 | 62]);

const hello = (...frames: readonly Buffer[]): Buffer => Buffer.concat([PREFACE, settingsFrame([]), ...frames]);
const opening = (path: string, flags: number): Buffer => frame(FRAME.headers, flags, 1, Buffer.concat(ENTRIES(path)));

const h2 = (name: string, step: FloodKind['step'], more: Partial<FloodKind> = {}): FloodKind => ({
  name,
  first: hello(),
  step,
  isFresh: false,
  protocol: 'h2',
  ...more,
});

/** Requests for `path`, each of them whole. */
const requests = (name: string, path: string, before: readonly Buffer[] = []): FloodKind =>
  h2(name, (id) => frame(FRAME.headers, END, id, AGAIN), {
    first: hello(...before, opening(path, END)),
    isFresh: true,
  });

/** Frames on one stream that stays open. */
const onStream = (name: string, path: string, step: Buffer): FloodKind =>
  h2(name, () => step, { first: hello(opening(path, FLAG.endHeaders)) });

const random = (bytes: number): Buffer =>
  Buffer.from(Array.from({ length: bytes }, (_, index) => (index * 197 + 91) % 256));

/** Every kind of HTTP/2 frame, and what can be done with frames; `path` is one that the port has. */
function http2Kinds(path: string): readonly FloodKind[] {
  return [
    onStream('data', path, frame(FRAME.data, 0, 1, Buffer.from([0]))),
    onStream('data-empty', path, frame(FRAME.data, 0, 1, NOTHING)),
    requests('headers', '/nothing/here'),
    requests('headers-after-goaway', path, [goawayFrame(0)]),
    h2('headers-open', (id) => frame(FRAME.headers, FLAG.endHeaders, id, AGAIN), {
      first: hello(opening(path, FLAG.endHeaders)),
      isFresh: true,
    }),
    h2('headers-malformed', (id) => frame(FRAME.headers, END, id, Buffer.from([0x83, 0x83])), { isFresh: true }),
    h2('priority', () => frame(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 3, 1]))),
    h2('rst-stream', (id) => Buffer.concat([frame(FRAME.headers, END, id, AGAIN), rstStreamFrame(id, 8)]), {
      first: hello(opening(path, END)),
      isFresh: true,
    }),
    h2('settings', () => settingsFrame([])),
    h2('settings-window', () =>
      settingsFrame([
        [4, 1],
        [4, 65_535],
      ]),
    ),
    h2('push-promise', () => frame(FRAME.pushPromise, FLAG.endHeaders, 1, Buffer.from([0, 0, 0, 2, 0x83]))),
    h2('ping', () => pingFrame(Buffer.alloc(8), false)),
    h2('goaway', () => goawayFrame(0)),
    h2('window-update', () => windowUpdateFrame(0, 1)),
    h2('continuation', () => frame(FRAME.continuation, 0, 1, Buffer.from([0x83])), {
      first: hello(frame(FRAME.headers, 0, 1, Buffer.concat(ENTRIES(path)))),
    }),
    h2('unknown', () => frame(UNKNOWN_FRAME_TYPE, 0, 0, NOTHING)),
    h2('acknowledgements', () =>
      Buffer.concat([frame(FRAME.settings, FLAG.ack, 0, NOTHING), pingFrame(Buffer.alloc(8), true)]),
    ),
    h2('garbage', () => random(1024)),
    h2('half', () => Buffer.from([0]), {
      first: hello(frame(FRAME.headers, 0, 1, Buffer.alloc(LARGEST_FRAME_BYTES)).subarray(0, 100)),
      isDribbled: true,
    }),
    h2('unread', () => pingFrame(Buffer.alloc(8), false), { readsNothing: true }),
    { ...requests('unread-headers', '/nothing/here'), readsNothing: true },
  ];
}

/** Calls that only the agents' port has. */
const LINK_KINDS: readonly FloodKind[] = [
  h2(
    'discover',
    (id) =>
      Buffer.concat([
        frame(FRAME.headers, FLAG.endHeaders, id, AGAIN),
        frame(FRAME.data, FLAG.endStream, id, EMPTY_MESSAGE),
      ]),
    {
      first: hello(
        opening(`${SERVICE}/Discover`, FLAG.endHeaders),
        frame(FRAME.data, FLAG.endStream, 1, EMPTY_MESSAGE),
      ),
      isFresh: true,
    },
  ),
  requests('control', `${SERVICE}/Control`),
];

/** For ports that speak HTTP/1.1. */
const HTTP1_KINDS: readonly FloodKind[] = [
  {
    name: 'http1-requests',
    first: NOTHING,
    step: () => Buffer.from('GET /clusters/nothing/here HTTP/1.1\r\nHost: gateway\r\n\r\n'),
    isFresh: false,
    protocol: 'http/1.1',
  },
  {
    name: 'http1-head',
    first: Buffer.from('GET / HTTP/1.1\r\nHost: gateway\r\n'),
    step: () => Buffer.from('X-More: 0\r\n'),
    isFresh: false,
    protocol: 'http/1.1',
  },
];

/** A path that each port has, for what is to come as far as it can. */
const PATHS = {
  link: `${SERVICE}/Enrol`,
  relay: '/fairlead.link.v1.RelayService/Tunnel',
  'kube-api': '/clusters/demo/api',
  connect: '/',
};

export type Port = keyof typeof PATHS;

export function kindsOf(port: Port): readonly FloodKind[] {
  const all = http2Kinds(PATHS[port]);
  if (port === 'link') return [...all, ...LINK_KINDS];
  return port === 'relay' ? all : [...all, ...HTTP1_KINDS];
}

import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { fromBinary } from '@bufbuild/protobuf';
import { readRecordedSession, type RecordedStream } from '@fairlead/http2/testing';
import { FetchBundleRequestSchema, FetchBundleResponseSchema } from '@fairlead/proto';

const GRPC_PREFIX_BYTES = 5;

/** What both sides said, in every form in which it can be searched. */
export interface SaidOnLink {
  /**
   * By agents. Of each connection: all of it; of each stream, its headers decoded, and its data put together, so that what stands
   * in two frames is found.
   */
  readonly up: readonly Buffer[];
  /** By gateways, likewise; and bundles, put together and unpacked. */
  readonly down: readonly Buffer[];
  /** Paths of the calls that were made. */
  readonly calls: ReadonlySet<string>;
  /** SHA-256 (hex) of the bundles that were brought. */
  readonly bundles: ReadonlySet<string>;
}

/** Reads the HTTP/2 of connections, agents up and gateways down. Throws for what is none. */
export function readSaid(connections: readonly { readonly up: Buffer; readonly down: Buffer }[]): SaidOnLink {
  const sessions = connections.map(({ up, down }) => ({
    up: readRecordedSession(up, 'client'),
    down: readRecordedSession(down, 'server'),
  }));
  const bundles = bundlesIn(sessions);
  const said = (way: 'up' | 'down'): Buffer[] => [
    ...connections.map((connection) => connection[way]),
    ...sessions.flatMap((session) => [...session[way].values()].flatMap(textsOf)),
  ];
  return {
    up: said('up'),
    down: [...said('down'), ...bundles],
    calls: new Set(sessions.flatMap(({ up }) => [...up.values()].map(callOf))),
    bundles: new Set(bundles.map((bundle) => createHash('sha256').update(bundle).digest('hex'))),
  };
}

interface Session {
  readonly up: ReadonlyMap<number, RecordedStream>;
  readonly down: ReadonlyMap<number, RecordedStream>;
}

const textsOf = ({ headers, data }: RecordedStream): Buffer[] => [Buffer.from(headers.join('\n'), 'latin1'), data];

function callOf({ headers }: RecordedStream): string {
  const prefix = ':path: ';
  return headers.find((header) => header.startsWith(prefix))?.slice(prefix.length) ?? '';
}

/** Those that came whole, as the YAML that they are: pieces of gzip, one by a call, and a link that is lost goes on by another. */
function bundlesIn(sessions: readonly Session[]): Buffer[] {
  const found = new Map<string, { readonly gzip: Buffer; missing: number }>();
  for (const [asked, answered] of sessions.flatMap(fetchesIn)) {
    const { digest, offset } = fromBinary(FetchBundleRequestSchema, asked);
    const { piece, compressedBytes } = fromBinary(FetchBundleResponseSchema, answered);
    const bundle = found.get(digest) ?? { gzip: Buffer.alloc(compressedBytes), missing: compressedBytes };
    bundle.gzip.set(piece, offset);
    bundle.missing -= piece.length;
    found.set(digest, bundle);
  }
  return [...found.values()].filter(({ missing }) => missing <= 0).map(({ gzip }) => gunzipSync(gzip));
}

/** Of each call for a piece that was answered with one: both messages. */
function fetchesIn({ up, down }: Session): (readonly [asked: Buffer, answered: Buffer])[] {
  return [...up].flatMap(([id, stream]) => {
    const answered = messageIn(down.get(id));
    return callOf(stream).endsWith('/FetchBundle') && answered.length > 0 ? [[messageIn(stream), answered]] : [];
  });
}

/** Of a stream with one message. */
const messageIn = (stream: RecordedStream | undefined): Buffer =>
  stream?.data.subarray(GRPC_PREFIX_BYTES) ?? Buffer.alloc(0);

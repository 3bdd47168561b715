import type { ClientHttp2Stream, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { eventually } from '@fairlead/testing';
import type { ScriptStream } from '@fairlead/tunnel/testing';
import { MessageReader, parseFrame, type FrameCase, type FrameKind } from './wire.js';

/** A stream of Node's HTTP/2, or one of ours in a test's hands. */
export type PeerStream = ClientHttp2Stream | ServerHttp2Stream | ScriptStream;

/** One end of one Tunnel call that says what a test tells it to, and remembers everything it heard. */
export class TunnelScript<Stream extends PeerStream = ClientHttp2Stream> {
  readonly stream: Stream;
  readonly frames: FrameKind[] = [];
  /** Status of the call, from its headers or its trailers; null while it goes on. */
  grpcStatus: number | null = null;
  readonly #reader = new MessageReader();

  constructor(stream: Stream) {
    this.stream = stream;
    const onHeaders = (headers: IncomingHttpHeaders): void => {
      if (headers['grpc-status'] !== undefined) this.grpcStatus = Number(headers['grpc-status']);
    };
    stream.on('response', onHeaders);
    stream.on('trailers', onHeaders);
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      for (const message of this.#reader.push(chunk)) this.frames.push(parseFrame(message));
    });
  }

  /** All in one write, so that the peer meets them in one piece. */
  send(...frames: Buffer[]): void {
    this.stream.write(Buffer.concat(frames));
  }

  /** END_STREAM, after these. */
  end(...frames: Buffer[]): void {
    this.stream.end(Buffer.concat(frames));
  }

  cancel(code: number): void {
    this.stream.close(code);
  }

  has(kind: FrameCase): boolean {
    return this.frames.some((frame) => frame.case === kind);
  }

  /** Resolves once a frame of this kind came. */
  async heard(kind: FrameCase): Promise<void> {
    await eventually(
      () => {
        if (!this.has(kind)) throw new Error(`no ${kind} among ${this.frames.map((frame) => frame.case).join(', ')}`);
      },
      { intervalMs: 5 },
    );
  }

  /** Everything that came as data, so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.frames.map((frame) => (frame.case === 'data' ? frame.value : Buffer.alloc(0))));
  }

  /** How the peer ended this tunnel: Reset or Refused, with its code. */
  verdict(): Promise<{ frame: 'reset' | 'refused'; code: string }> {
    return eventually(
      () => {
        for (const frame of this.frames) {
          if (frame.case === 'reset' || frame.case === 'refused') return { frame: frame.case, code: frame.value.code };
        }
        throw new Error('neither Reset nor Refused came');
      },
      { intervalMs: 5 },
    );
  }

  /** The status of a call that was refused before any message. */
  async rejected(): Promise<number | null> {
    this.stream.end();
    await this.gone();
    return this.grpcStatus;
  }

  /** Resolves when the HTTP/2 stream is gone. */
  async gone(): Promise<void> {
    if (!this.stream.closed) await new Promise<void>((resolve) => this.stream.once('close', () => resolve()));
  }
}

import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Output, type SendLimits } from './output.js';
import { INITIAL_SETTINGS } from './settings.js';
import { type StreamHost, Http2Stream } from './stream.js';
import { ReceiveWindow } from './windows.js';
import { FRAME } from './wire/constants.js';
import { pingFrame } from './wire/frames.js';

const KIB = 1024;
const WIDE = 2 ** 30;

/** A kernel that takes what is written when it is told to, and the frames it took. */
class Kernel extends Duplex {
  readonly frames: { type: number; streamId: number; length: number }[] = [];
  #pending: (() => void)[] = [];
  #bytes = Buffer.alloc(0);

  constructor() {
    super({ writableHighWaterMark: WIDE });
  }

  override _read(): void {}

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#bytes = Buffer.concat([this.#bytes, ...chunks.map(({ chunk }) => chunk)]);
    this.#pending.push(done);
  }

  /** Takes all that was written. */
  accept(): void {
    for (const done of this.#pending.splice(0)) done();
    while (this.#bytes.length >= 9) {
      const length = this.#bytes.readUIntBE(0, 3);
      this.frames.push({ type: this.#bytes[3] as number, streamId: this.#bytes.readUInt32BE(5), length });
      this.#bytes = this.#bytes.subarray(9 + length);
    }
  }
}

function setUp(limits: Partial<SendLimits> = {}): {
  kernel: Kernel;
  output: Output;
  stream: (id: number) => Http2Stream;
  unread: () => number;
} {
  const kernel = new Kernel();
  let unread = 0;
  const all = { ...INITIAL_SETTINGS, maxFrameBytes: 128 * KIB, connectionSendWindow: WIDE, ...limits };
  const output = new Output(kernel, all, 100, () => (unread += 1));
  const host: StreamHost<Http2Stream> = {
    role: 'server',
    wakeUp: (stream) => output.ready(stream),
    sendHeaders: () => undefined,
    reset: () => undefined,
    credit: () => undefined,
    forget: (stream) => output.gone(stream),
  };
  return {
    kernel,
    output,
    stream: (id) => new Http2Stream(id, host, new ReceiveWindow(WIDE), WIDE),
    unread: () => unread,
  };
}

async function rounds(kernel: Kernel, count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await turn();
    kernel.accept();
    await turn();
  }
}

describe('Output', () => {
  it('serves bulk streams in equal turns', async () => {
    const { kernel, stream } = setUp();
    for (const id of [1, 3, 5]) stream(id).write(Buffer.alloc(512 * KIB));
    await rounds(kernel, 12);
    const order = kernel.frames.map(({ streamId }) => streamId);
    expect(order.slice(0, 9)).toEqual([1, 3, 5, 1, 3, 5, 1, 3, 5]);
    for (const id of [1, 3, 5]) {
      const sent = kernel.frames.filter(({ streamId }) => streamId === id);
      expect(sent.reduce((sum, { length }) => sum + length, 0)).toBe(512 * KIB);
    }
  });

  it('puts control frames before DATA, and small messages before bulk', async () => {
    const { kernel, output, stream } = setUp();
    stream(1).write(Buffer.alloc(2_048 * KIB));
    await turn();
    stream(3).write(Buffer.from('small'));
    output.control(pingFrame(Buffer.alloc(8), true));
    const before = kernel.frames.length;
    kernel.accept();
    const inFlight = kernel.frames.length - before;
    await rounds(kernel, 2);
    expect(kernel.frames.slice(inFlight, inFlight + 2)).toMatchObject([{ type: FRAME.ping }, { streamId: 3 }]);
  });

  it('starves no bulk stream, however many others always have a little', async () => {
    const { kernel, stream } = setUp();
    const bulk = stream(1);
    bulk.write(Buffer.alloc(4_096 * KIB));
    const eager = [3, 5, 7, 9, 11, 13, 15, 17].map((id) => stream(id));
    for (let round = 0; round < 30; round += 1) {
      for (const each of eager) if (each.pendingBytes === 0) each.write(Buffer.alloc(60 * KIB));
      await rounds(kernel, 1);
    }
    const all = kernel.frames.reduce((sum, { length }) => sum + length, 0);
    const ofBulk = kernel.frames.filter(({ streamId }) => streamId === 1).reduce((sum, { length }) => sum + length, 0);
    expect(ofBulk).toBeGreaterThan(all / 8);
  });

  it('gives the socket no more than a quarter of a megabyte and one turn', async () => {
    const { kernel, output, stream } = setUp();
    stream(1).write(Buffer.alloc(4_096 * KIB));
    await turn();
    await turn();
    expect(output.inFlightBytes).toBeLessThanOrEqual((256 + 65) * KIB);
    expect(kernel.writableLength).toBe(output.inFlightBytes);
  });

  it('counts what it gave the socket exactly, trailers and windows below zero among it', async () => {
    const { kernel, output, stream } = setUp();
    const ending = stream(1);
    ending.sendWindow = -1_000;
    ending.end([['grpc-status', '0']]);
    const other = stream(3);
    other.write(Buffer.from('x'));
    other.end();
    await turn();
    expect(output.inFlightBytes).toBe(kernel.writableLength);
    kernel.accept();
    await turn();
    expect(output.inFlightBytes).toBe(0);
    expect(kernel.frames.map(({ type }) => type)).toEqual([FRAME.headers, FRAME.data]);
  });

  it('tells when control frames wait for a peer that takes nothing', async () => {
    const { output, stream, unread } = setUp();
    stream(1).write(Buffer.alloc(1_024 * KIB));
    await turn();
    for (let count = 0; count < 100; count += 1) output.control(pingFrame(Buffer.alloc(8), true));
    expect(unread()).toBe(0);
    output.control(pingFrame(Buffer.alloc(8), true));
    expect(unread()).toBe(1);
  });

  it('tells a writer once there is room, and not before', async () => {
    const { kernel, stream } = setUp({ connectionSendWindow: 100 * KIB });
    const writer = stream(1);
    let drains = 0;
    const nothing = (): void => undefined;
    writer.attach({ onData: nothing, onEnd: nothing, onClose: nothing, onDrain: () => void (drains += 1) });
    expect(writer.write(Buffer.alloc(127 * KIB))).toBe(true);
    expect(writer.write(Buffer.alloc(30 * KIB))).toBe(false);
    await rounds(kernel, 1);
    expect([writer.pendingBytes < 128 * KIB, drains]).toEqual([true, 1]);
  });
});

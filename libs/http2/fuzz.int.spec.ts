import { expect, it } from 'vitest';
import { eventually } from '@fairlead/testing';
import { SessionError } from './errors.js';
import { REQUEST, data, headers } from './testing/raw-peer.js';
import { Recorder } from './testing/recorder.js';
import { againstClient, againstServer, type RawAndOurs } from './testing/sessions.js';
import { FLAG, FRAME } from './wire/constants.js';
import { frame, pingFrame, rstStreamFrame, windowUpdateFrame } from './wire/frames.js';

const SEEDS = 40;
const FRAMES = 200;
const ASKED = 60;
const WINDOW = 65_535;
const ANSWER = [[':status', '200']] as const;

/** A whole number below `below`, the same for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

/** Writes what a peer may write, at random; now and then something that it may not. */
class RandomPeer {
  readonly #role: 'client' | 'server';
  readonly #random: (below: number) => number;
  /** Streams it may still say something on. */
  readonly #open: number[] = [];
  readonly #answered = new Set<number>();
  #next = 1;
  /** What it sent, as far as it counts for flow control. */
  dataBytes = 0;

  constructor(role: 'client' | 'server', seed: number, asked: number) {
    this.#role = role;
    this.#random = randomOf(seed);
    if (role === 'server') for (let id = 1; id < 2 * asked; id += 2) this.#open.push(id);
  }

  frame(): Buffer {
    const random = this.#random;
    if (random(150) === 0) return this.#anything();
    const kind = random(20);
    if (kind < 2) return pingFrame(Buffer.alloc(8), false);
    if (this.#open.length === 0 || (kind < 5 && this.#role === 'client')) return this.#begin();
    const place = random(this.#open.length);
    const id = this.#open[place] as number;
    if (kind < 7) return windowUpdateFrame(random(3) === 0 ? 0 : id, 1 + random(100_000));
    const ends = random(8) === 0;
    if (ends || kind === 7) this.#open.splice(place, 1);
    if (kind === 7) return rstStreamFrame(id, random(12));
    if (this.#role === 'server' && !this.#answered.has(id)) {
      this.#answered.add(id);
      return headers(id, ANSWER, ends);
    }
    if (ends && random(2) === 0) return headers(id, [['x', 'y']], true);
    const sent = random(5) === 0 ? this.#padded(id, ends) : data(id, Buffer.alloc(random(1_500)), ends);
    this.dataBytes += sent.length - 9;
    return sent;
  }

  #anything(): Buffer {
    const random = this.#random;
    const [type, flags, id] = [random(12), random(256), random(9)];
    const payload = Buffer.alloc(random(20), random(256));
    if (type === FRAME.data) this.dataBytes += payload.length;
    return frame(type, flags, id, payload);
  }

  #begin(): Buffer {
    if (this.#role === 'server') return pingFrame(Buffer.alloc(8), false);
    const id = this.#next;
    this.#next += 2;
    const ends = this.#random(4) === 0;
    if (!ends) this.#open.push(id);
    return headers(id, REQUEST, ends);
  }

  #padded(id: number, ends: boolean): Buffer {
    const padding = this.#random(50);
    const payload = Buffer.alloc(1 + padding + this.#random(100));
    payload[0] = padding;
    return frame(FRAME.data, FLAG.padded | (ends ? FLAG.endStream : 0), id, payload);
  }
}

async function check(
  ours: RawAndOurs,
  seed: number,
  role: 'client' | 'server',
  told: Recorder[],
): Promise<(Error | null)[]> {
  const random = new RandomPeer(role, seed, ASKED);
  for (let count = 0; count < FRAMES; count += 1) ours.peer.send(random.frame());
  ours.peer.send(pingFrame(Buffer.from('lastping'), false));
  const last = (): boolean => ours.peer.of(FRAME.ping).some(({ payload }) => String(payload) === 'lastping');
  await eventually(() => expect(last() || ours.peer.gone, `seed ${seed}`).toBe(true), {
    intervalMs: 2,
  });
  const causes = [...ours.causes];
  if (causes.length === 0) await checkWindow(ours, random.dataBytes, told);
  ours.session.destroy();
  await eventually(() => expect(ours.session.streams.size).toBe(0), { intervalMs: 2 });
  return causes;
}

/** Once every stream is gone and every receiver took what it was given, the connection is the peer's again. */
async function checkWindow({ session, peer }: RawAndOurs, sentBytes: number, told: readonly Recorder[]): Promise<void> {
  for (const stream of session.streams.all()) stream.cancel();
  for (const each of told) if (!each.taking) each.takeAll();
  peer.send(pingFrame(Buffer.from('windows?'), false));
  await eventually(() => expect(peer.of(FRAME.ping).some(({ payload }) => String(payload) === 'windows?')).toBe(true));
  const given = peer.of(FRAME.windowUpdate, 0).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
  expect(WINDOW - sentBytes + given).toBeGreaterThan((WINDOW * 3) / 4 - 1);
  expect(WINDOW - sentBytes + given).toBeLessThanOrEqual(WINDOW);
}

/** A mistake of ours would be an error of another kind. */
const isTheirs = (cause: Error | null): boolean => cause === null || cause instanceof SessionError;

it('a client that sends anything at any time is served, or ended for what it did', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    await using ours = await againstClient();
    const random = randomOf(seed + 1_000);
    const told: Recorder[] = [];
    ours.session.on('stream', (stream) => {
      const act = random(6);
      if (act > 0) told.push(new Recorder(stream, { taking: act > 1 }));
      stream.respond(ANSWER);
      stream.write(Buffer.alloc(random(2_000)));
      if (act === 2) stream.cancel();
      if (act === 3) stream.end([['grpc-status', '0']]);
      if (act === 4) stream.detach();
    });
    const causes = await check(ours, seed, 'client', told);
    expect(causes.filter((cause) => !isTheirs(cause))).toEqual([]);
  }
});

it('a server that sends anything at any time is borne, or ended for what it did', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    await using ours = await againstServer();
    for (let count = 0; count < ASKED; count += 1) {
      const stream = ours.session.request(REQUEST);
      stream.attach(new Recorder(stream));
      if (count % 3 === 0) stream.end();
      if (count % 7 === 0) stream.cancel();
    }
    await ours.peer.next(FRAME.headers, 2 * ASKED - 1);
    const causes = await check(ours, seed, 'server', []);
    expect(causes.filter((cause) => !isTheirs(cause))).toEqual([]);
  }
});

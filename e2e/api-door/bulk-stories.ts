import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Kubectl } from '@fairlead/testbed';
import { beforeAll, describe, expect, it } from 'vitest';
import { SOON_MS } from '../support/pod-streams.js';
import { watchProcess } from '../support/watching.js';
import type { StreamingWorld, Via } from './world.js';

const MEGABYTE = 1_000_000;
const BULK_BYTES = 500 * MEGABYTE;
const [CONNECTIONS, BYTES_EACH] = [100, 10 * MEGABYTE];
const LATE_MS = 300_000;

/** 500 MB that do not compress. */
interface Sent {
  readonly file: string;
  readonly inPod: string;
  readonly sha256: string;
}

/** What kubectl carries when it is much, by each way and with each protocol. */
export function describeBulk(of: () => StreamingWorld): void {
  describe('of half a gigabyte and more', () => {
    tellBulk(of);
  });
}

function tellBulk(of: () => StreamingWorld): void {
  let sent: Sent;
  beforeAll(async () => {
    sent = await prepare(of());
  }, LATE_MS);

  describe.each<Via>(['own', 'relay'])('through the replica whose way is %s', (via) => {
    describe.each(['WebSocket', 'SPDY'] as const)('by %s', (protocol) => {
      const kubectl = (): Kubectl => of().kubectls[via][protocol];

      it('500 MB go into a command, and 500 MB come out of one', { timeout: LATE_MS }, async () => {
        const hashing = kubectl().start(['exec', '-i', 'shell', '--', 'sha256sum']);
        const hashed = heard(hashing.stdout);
        await pipeline(createReadStream(sent.file), hashing.stdin);
        expect((await hashed).toString()).toBe(`${sent.sha256}  -\n`);
        // The end of a command ends its WebSocket, which kubectl may still be reading; so it waits until all has come.
        const reading = kubectl().start(['exec', '-i', 'shell', '--', 'sh', '-c', `cat ${sent.inPod}; cat`]);
        const hash = createHash('sha256');
        let received = 0;
        for await (const piece of reading.stdout as AsyncIterable<Buffer>) {
          hash.update(piece);
          received += piece.length;
          if (received >= BULK_BYTES) reading.stdin.end();
        }
        expect([received, hash.digest('hex')]).toEqual([BULK_BYTES, sent.sha256]);
      });

      it('cp takes 500 MB there and back', { timeout: LATE_MS }, async () => {
        const there = join(of().dir, `there-${via}-${protocol}`);
        const back = join(of().dir, `back-${via}-${protocol}`);
        await ran(kubectl(), 'exec', 'shell', '--', 'mkdir', there);
        await ran(kubectl(), 'cp', sent.file, `shell:${there}/file`);
        const hashed = await kubectl()(['exec', 'shell', '--', 'sha256sum', `${there}/file`]);
        expect(hashed.stdout.toString()).toBe(`${sent.sha256}  ${there}/file\n`);
        await ran(kubectl(), 'cp', `shell:${there}/file`, back);
        expect(await hashOf(createReadStream(back))).toBe(sent.sha256);
        await ran(kubectl(), 'exec', 'shell', '--', 'rm', '-r', there);
        await rm(back);
      });

      it(
        'a forwarded port takes 100 connections at once, and 1 GB over them each way',
        { timeout: LATE_MS },
        async () => {
          const [port] = of().pods.webPorts;
          await using forward = watchProcess(kubectl().start(['port-forward', `pod/web-${port}`, `:${port}`]));
          const [local = ''] = /127\.0\.0\.1:\d+/.exec(await forward.line(/Forwarding from 127/, SOON_MS)) ?? [];
          const body = randomBytes(BYTES_EACH);
          const expected = createHash('sha256').update(body).digest('hex');
          const hashes = await Promise.all(Array.from({ length: CONNECTIONS }, () => echoedHash(local, body)));
          expect(hashes.filter((hash) => hash !== expected)).toEqual([]);
        },
      );
    });
  });
}

/** Writes them here and, not through what is tested, into the pod. */
async function prepare(world: StreamingWorld): Promise<Sent> {
  const file = join(world.dir, 'sent');
  const out = createWriteStream(file);
  for (let written = 0; written < BULK_BYTES; written += MEGABYTE) {
    if (!out.write(randomBytes(MEGABYTE))) await once(out, 'drain');
  }
  await new Promise<void>((resolve) => out.end(resolve));
  const inPod = join(world.dir, 'in-the-pod');
  // containerd ends the input of a command whose output ends: the shell stays, and keeps its own.
  const script = `mkdir -p ${world.dir} && cat > ${inPod} && echo written`;
  const command = ['exec', '-i', 'shell', '--', 'sh', '-c', script];
  const writing = world.direct.start(command);
  const [written, said] = [heard(writing.stdout), heard(writing.stderr)];
  const ended = once(writing, 'exit');
  // Where it ends early, what it said tells why.
  await pipeline(createReadStream(file), writing.stdin).catch(() => undefined);
  expect([...(await ended), String(await written), String(await said)]).toEqual([
    0,
    null,
    'written\n',
    expect.not.stringMatching(/error/i),
  ]);
  return { file, inPod, sha256: await hashOf(createReadStream(file)) };
}

async function hashOf(stream: Readable): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(stream, hash);
  return hash.digest('hex');
}

/** Runs to its end, which may take minutes. */
async function ran(kubectl: Kubectl, ...args: string[]): Promise<void> {
  const { code, stderr } = await kubectl(args);
  expect([code, stderr]).toEqual([0, expect.not.stringMatching(/error/i)]);
}

async function heard(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Of what the echo answers, read while it is sent, on a connection of its own. */
function echoedHash(local: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = request(`http://${local}/`, { method: 'POST', agent: false, signal: AbortSignal.timeout(LATE_MS) });
    asking.once('error', reject);
    asking.once('response', (answer) => void hashOf(answer).then(resolve, reject));
    asking.end(body);
  });
}

// @tier full: gigabytes and hundreds of streams, by each way and each protocol; `streams` shows the same with a few megabytes
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Kubectl } from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SOON_MS } from '../support/pod-streams.js';
import { watchProcess } from '../support/watching.js';
import { startStreamingWorld, type StreamingWorld, type Via } from './world.js';

const MEGABYTE = 1_000_000;
const BULK_BYTES = 500 * MEGABYTE;
const [CONNECTIONS, BYTES_EACH] = [100, 10 * MEGABYTE];
const LATE_MS = 300_000;

let world: StreamingWorld;
/** 500 MB that do not compress, here and in the pod, which is a process of this machine. */
let sent: { readonly file: string; readonly sha256: string };

beforeAll(async () => {
  world = await startStreamingWorld();
  const file = join(world.dir, 'sent');
  const out = createWriteStream(file);
  for (let written = 0; written < BULK_BYTES; written += MEGABYTE) {
    if (!out.write(randomBytes(MEGABYTE))) await once(out, 'drain');
  }
  await new Promise<void>((resolve) => out.end(resolve));
  sent = { file, sha256: await hashOf(createReadStream(file)) };
});
afterAll(() => world?.[Symbol.asyncDispose]());

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

describe.each<Via>(['own', 'relay'])('through the replica whose way is %s', (via) => {
  describe.each(['WebSocket', 'SPDY'] as const)('by %s', (protocol) => {
    const kubectl = (): Kubectl => world.kubectls[via][protocol];

    it('500 MB go into a command, and 500 MB come out of one', { timeout: LATE_MS }, async () => {
      const hashing = kubectl().start(['exec', '-i', 'shell', '--', 'sha256sum']);
      const hashed = heard(hashing.stdout);
      await pipeline(createReadStream(sent.file), hashing.stdin);
      expect((await hashed).toString()).toBe(`${sent.sha256}  -\n`);
      // The end of a command ends its WebSocket, which kubectl may still be reading; so it waits until all has come.
      const reading = kubectl().start(['exec', '-i', 'shell', '--', 'sh', '-c', `cat ${sent.file}; cat`]);
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
      const there = join(world.dir, `there-${via}-${protocol}`);
      await mkdir(there);
      await ran(kubectl(), 'cp', sent.file, `shell:${there}/file`);
      expect(await hashOf(createReadStream(join(there, 'file')))).toBe(sent.sha256);
      await ran(kubectl(), 'cp', `shell:${there}/file`, join(there, 'back'));
      expect(await hashOf(createReadStream(join(there, 'back')))).toBe(sent.sha256);
      await rm(there, { recursive: true });
    });

    it(
      'a forwarded port takes 100 connections at once, and 1 GB over them each way',
      { timeout: LATE_MS },
      async () => {
        const [port] = world.pods.webPorts;
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

import { startInstallation, type Replica, type TestInstallation } from '@fairlead/installation';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FLAG, FRAME, RawHttp2, callHeaders, http2Frame, rstStream } from './raw-http2.js';

/** Less than the window that a connection has from its beginning. */
const BYTES = 60_000;
/** Less than the calls that a connection may hold. */
const CALLS = 20;
/** Who says no Hello is refused after ten seconds, whatever it began. */
const LESS_THAN_HELLO_MS = 8_000;

let installation: TestInstallation;
let replica: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a');
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
});

/** A call of which nothing but a part of its first message is sent, in DATA of one byte each. */
function beginMessage(id: number, path: string, announcedBytes: number, sentBytes: number): Buffer[] {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(announcedBytes, 1);
  const slice = http2Frame(FRAME.data, 0, id, Buffer.from([0x0a]));
  return [
    http2Frame(FRAME.headers, FLAG.endHeaders, id, callHeaders(path)),
    http2Frame(FRAME.data, 0, id, prefix),
    ...Array.from({ length: sentBytes }, () => slice),
  ];
}

/** What this process, which is both ends, works until the gateway has read everything, for which it ends nobody. */
async function cpuMs(peer: RawHttp2, frames: readonly Buffer[]): Promise<number> {
  const { pongs } = peer;
  const before = process.cpuUsage();
  await peer.send(...frames, http2Frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
  await eventually(() => expect(peer.pongs).toBeGreaterThan(pongs));
  const { user, system } = process.cpuUsage(before);
  // Now: it answers no pings, so it is ended some seconds later.
  expect(peer.ended).toBe(false);
  return (user + system) / 1_000;
}

/** An agent: who shows no certificate is ended after 4,000 frames (`gateway/link/unauthenticated-budget.ts`). */
async function dial(): Promise<RawHttp2> {
  const { authority, cluster } = installation;
  const { privateKeyPem: keyPem, chainPem } = await authority.agent(cluster.clusterId, {
    generation: cluster.generation,
  });
  return RawHttp2.dial(replica.gateway.link.address, authority.roots, { keyPem, chainPem });
}

it.each([
  ['Enrol', 64 * 1024],
  ['Renew', 64 * 1024],
  ['Discover', 64 * 1024],
  ['Control', 8 * 1024],
])('a large message of %s that an agent sends byte by byte costs as much as small ones', async (name, largest) => {
  const path = `/fairlead.link.v1.AgentLinkService/${name}`;
  const each = BYTES / CALLS;
  const small: Buffer[] = [];
  for (let n = 0; n < CALLS; n += 1) small.push(...beginMessage(2 * n + 1, path, each + 1, each), rstStream(2 * n + 1));
  await using first = await dial();
  await cpuMs(first, small);
  await using second = await dial();
  const smallMs = await cpuMs(second, small);
  await using third = await dial();
  const largeMs = await cpuMs(third, beginMessage(1, path, largest, Math.min(BYTES, largest - 1)));
  expect(largeMs).toBeLessThan(3 * smallMs + 100);
});

it('a Hello that is announced larger than any is refused before it comes', async () => {
  await using peer = await dial();
  await peer.send(...beginMessage(1, '/fairlead.link.v1.AgentLinkService/Control', 8 * 1024 + 1, 1));
  // The answer's head comes at once; its trailers say PROTOCOL_ERROR.
  await eventually(() => expect(peer.received.get(FRAME.headers)).toBe(2), { timeoutMs: LESS_THAN_HELLO_MS });
});

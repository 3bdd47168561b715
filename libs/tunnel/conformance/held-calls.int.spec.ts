// @process own: it measures the memory of its process
import { once } from 'node:events';
import { constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create, toBinary } from '@bufbuild/protobuf';
import type { TestInstallation } from '@fairlead/installation';
import { FetchBundleRequestSchema } from '@fairlead/proto';
import { eventually } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ownSubject, type GatewaySubject } from './gateway-subject.js';
import { ScriptedAgent, callOn, dialHttp2 } from './scripted-agent.js';
import { grpcMessage } from './wire.js';

const SERVICE = '/fairlead.link.v1.AgentLinkService';
/** Nearly all of the largest message there may be, which never becomes whole. */
const BEGUN = Buffer.alloc(60_000);
BEGUN.writeUInt32BE(BEGUN.length, 1);
const KIB = 1024;
/** Calls that an unauthenticated peer may have open before its session is ended. */
const CALLS = 31;
const UNAUTHENTICATED = 24;
/** They send 43 MiB, of which the gateway may hold 1.5. */
const HELD_BYTES = 8 * KIB ** 2;
/** For what a slow machine may take its time with. */
const PATIENT = { timeoutMs: 60_000 };
/** A request's body has so long. */
const BODY_MS = 15_000;
/** A tunnel that was reset, or a call that was refused, is cancelled after so long. */
const LINGER_MS = 2_000;
const RESOURCE_EXHAUSTED = '8';

let subject: GatewaySubject & { readonly installation?: TestInstallation };
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  subject = await ownSubject();
});
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});
afterAll(async () => {
  await subject?.[Symbol.asyncDispose]();
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What is still referred to, of buffers. */
function heldNow(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

interface Call {
  readonly stream: ClientHttp2Stream;
  /** gRPC's status, if the call was answered. */
  readonly status: () => string | undefined;
}

function begin(http2: ClientHttp2Session, method: string, bytes: Buffer): Call {
  const stream = callOn(http2, `${SERVICE}/${method}`);
  let status: string | undefined;
  const onHeaders = (headers: Record<string, string | string[] | undefined>): void => {
    status = (headers['grpc-status'] as string | undefined) ?? status;
  };
  stream
    .on('response', onHeaders)
    .on('trailers', onHeaders)
    .on('error', () => undefined);
  stream.resume();
  stream.write(bytes);
  return { stream, status: () => status };
}

async function unauthenticated(): Promise<ClientHttp2Session> {
  const session = await dialHttp2(subject.link, subject.rootsPem, null);
  sessions.push(session);
  return session;
}

async function discovers(http2: ClientHttp2Session): Promise<void> {
  const { stream, status } = begin(http2, 'Discover', grpcMessage(new Uint8Array()));
  stream.end();
  await once(stream, 'close');
  expect(status()).toBe('0');
}

/** The first piece of a bundle. */
function fetchPiece(http2: ClientHttp2Session, digest: string): Call {
  const request = create(FetchBundleRequestSchema, { digest, offset: 0 });
  const call = begin(http2, 'FetchBundle', grpcMessage(toBinary(FetchBundleRequestSchema, request)));
  call.stream.end();
  return call;
}

const openOf = (calls: readonly Call[]): number => calls.filter(({ stream }) => !stream.closed).length;

describe('requests that begin and never become whole', () => {
  it('of many who are unauthenticated are held within a small part of what they send', async () => {
    const all = await Promise.all(Array.from({ length: UNAUTHENTICATED }, unauthenticated));
    const before = heldNow();
    const beganMs = performance.now();
    const calls = all.flatMap((session) =>
      Array.from({ length: CALLS }, (_, i) => begin(session, i % 2 ? 'Enrol' : 'Renew', BEGUN)),
    );
    // Each was read, refused or reset: nothing of it waits in this process, which is both ends.
    await eventually(() => {
      for (const { stream } of calls) expect(stream.closed || stream.writableLength === 0).toBe(true);
    }, PATIENT);
    // What is still on its way arrives; what is held is given up only when a body is too late. A machine that was slower with all of it is only shown that.
    const timeoutMs = Math.max(1_000, BODY_MS - 3_000 - (performance.now() - beganMs));
    await eventually(() => expect(heldNow() - before).toBeLessThan(HELD_BYTES), { timeoutMs });
  });

  it('have a part of one session together, eight calls at most and fifteen seconds, and cost it nothing else', async () => {
    const session = await unauthenticated();
    const part = (announced: number, bytes: number): Buffer => {
      const message = Buffer.alloc(5 + bytes);
      message.writeUInt32BE(announced, 1);
      return message;
    };
    const begun = [1, 2, 3].map(() => begin(session, 'Enrol', part(30 * KIB, 20 * KIB)));
    const tooMuch = begin(session, 'Enrol', part(30 * KIB, 20 * KIB));
    await eventually(() => expect(tooMuch.stream.closed).toBe(true));
    expect([tooMuch.stream.rstCode, openOf(begun)]).toEqual([constants.NGHTTP2_ENHANCE_YOUR_CALM, 3]);
    const small = Array.from({ length: 5 }, () => begin(session, 'Renew', part(100, 10)));
    const oneMore = begin(session, 'Renew', part(100, 10));
    await eventually(() => expect(oneMore.status()).toBe(RESOURCE_EXHAUSTED));
    expect(openOf([...begun, ...small])).toBe(8);
    await eventually(() => expect(openOf([...begun, ...small])).toBe(0));
    await discovers(session);
  });
});

describe('Control', () => {
  const part = (announced: number, bytes: number): Buffer => {
    const message = Buffer.alloc(5 + bytes);
    message.writeUInt32BE(announced, 1);
    return message;
  };

  it('has a part of what the calls of a session hold, before its Hello is whole', async () => {
    const session = await unauthenticated();
    const begun = [1, 2, 3].map(() => begin(session, 'Enrol', part(30 * KIB, 20 * KIB)));
    const held = begin(session, 'Control', part(8 * KIB, 3 * KIB));
    const tooMuch = begin(session, 'Control', part(8 * KIB, 3 * KIB));
    await eventually(() => expect(tooMuch.status()).toBe(RESOURCE_EXHAUSTED));
    expect([held.status(), openOf([...begun, held])]).toEqual([undefined, 4]);
  });

  it('takes nothing of it once the link stands', async () => {
    await using linked = await ScriptedAgent.linked(subject);
    const { http2 } = linked.agent;
    // All but ten bytes of it, of which the Hello had many more.
    const renewal = begin(http2, 'Renew', part(64 * KIB, 64 * KIB - 15));
    await eventually(() => expect(renewal.stream.writableLength).toBe(0));
    await discovers(http2);
    expect(openOf([renewal])).toBe(1);
  });
});

it('a piece of a bundle that an agent begins to take late, as on a poor line, comes whole', async () => {
  const { installation } = subject;
  if (!installation) return;
  await using linked = await ScriptedAgent.linked(subject);
  const { http2 } = linked.agent;
  http2.settings({ initialWindowSize: 0 });
  // Less than is written ahead: the gateway has done with the call before any of it was taken.
  const { digest } = installation.gitops.addBundle(100_000);
  const late = fetchPiece(http2, digest);
  await once(late.stream, 'response');
  await delay(LINGER_MS + 1_000);
  http2.settings({ initialWindowSize: 4 * KIB ** 2 });
  await eventually(() => expect(late.stream.closed).toBe(true));
  expect(late.status()).toBe('0');
});

it('pieces of a bundle that an agent asks for and never takes are few, and dropped after a while', async () => {
  const { installation } = subject;
  if (!installation) return;
  await using linked = await ScriptedAgent.linked(subject);
  const { http2 } = linked.agent;
  const { digest } = installation.gitops.addBundle(300_000);
  http2.settings({ initialWindowSize: 0 });
  const held = [fetchPiece(http2, digest), fetchPiece(http2, digest)];
  await Promise.all(held.map(({ stream }) => once(stream, 'response')));
  const refused = fetchPiece(http2, digest);
  await eventually(() => expect(refused.status()).toBe(RESOURCE_EXHAUSTED));
  await eventually(() => expect(openOf(held)).toBe(0), { timeoutMs: 45_000 });
  http2.settings({ initialWindowSize: 4 * KIB ** 2 });
  const taken = fetchPiece(http2, digest);
  await once(taken.stream, 'close');
  expect(taken.status()).toBe('0');
});

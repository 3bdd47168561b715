import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DesiredEntry } from '@fairlead/contracts';
import { reportOf, type TestInstallation } from '@fairlead/installation';
import { FetchBundleRequestSchema, FetchBundleResponseSchema, type SignedDesiredState } from '@fairlead/proto';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stillWorks } from './gateway-peers.js';
import { gatewaySubject, type GatewaySubject } from './gateway-subject.js';
import { ScriptedAgent, type ControlScript, type LinkedAgent } from './scripted-agent.js';
import { MessageReader, grpcMessage } from './wire.js';

let subject: GatewaySubject;
let installation: TestInstallation;
let revision = 100;

beforeAll(async () => {
  // What it is told stands in a bucket, which only this checkout's installation lets us write.
  delete process.env['FAIRLEAD_CONFORMANCE_GATEWAY'];
  subject = await gatewaySubject();
  installation = subject.installation as TestInstallation;
});

afterAll(() => subject?.[Symbol.asyncDispose]());

beforeEach(() => {
  revision += 10;
});

const told = ({ heard }: ControlScript): SignedDesiredState[] =>
  heard.flatMap((kind) => (kind.case === 'desiredState' ? [kind.value] : []));
const revisions = (control: ControlScript): number[] => told(control).map((state) => Number(state.revision));

/** Puts this revision, once: each time it is another change. The replica knows of it then. */
async function wanted(): Promise<DesiredEntry> {
  await using watcher = await ScriptedAgent.linked(subject);
  const entry = await installation.gitops.want(installation.cluster, revision);
  await eventually(() => expect(revisions(watcher.control)).toContain(revision));
  return entry;
}

describe('a gateway, of what is wanted of a cluster', () => {
  it('tells an agent that has another revision, after Welcome, as it stands in the bucket', async () => {
    const entry = await wanted();
    await using fresh = await ScriptedAgent.linked(subject);
    await using ahead = await ScriptedAgent.linked(subject, { desiredRevision: BigInt(revision + 5) });
    await eventually(() =>
      expect([revisions(fresh.control), revisions(ahead.control)]).toEqual([[revision], [revision]]),
    );
    expect(fresh.control.heard[0]?.case).toBe('welcome');
    const [state] = told(fresh.control);
    expect(Buffer.from(state?.document ?? '').toString('base64')).toBe(entry.document);
    expect(state?.signerChainPem).toEqual(entry.signerChain);
  });

  it('tells nothing to one that has it, and tells a change on every link', async () => {
    await wanted();
    const has = { desiredRevision: BigInt(revision) };
    await using one = await ScriptedAgent.linked(subject, { ...has, link: 0 });
    await using two = await ScriptedAgent.linked(subject, { ...has, link: 1 });
    revision += 1;
    await installation.gitops.want(installation.cluster, revision);
    await eventually(() => expect([revisions(one.control), revisions(two.control)]).toEqual([[revision], [revision]]));
  });

  it('tells it again when it was signed anew, and nothing of another cluster', async () => {
    await wanted();
    await using agent = await ScriptedAgent.linked(subject, { desiredRevision: BigInt(revision) });
    const other = await installation.addCluster(`other-${revision}`);
    await installation.gitops.want(other, revision);
    await installation.gitops.want(installation.cluster, revision);
    await eventually(() => expect(revisions(agent.control)).toEqual([revision]));
  });
});

describe('a gateway, of reports', () => {
  const valid = (observedRevision: number): Uint8Array =>
    Buffer.from(JSON.stringify(reportOf(subject.clusterId, { observedRevision })));
  const say = ({ control }: LinkedAgent, json: Uint8Array): void => control.say({ case: 'report', value: { json } });

  /** Nothing was told in between that should not be. */
  async function arrives(agent: LinkedAgent, observedRevision: number): Promise<void> {
    await eventually(
      () => {
        say(agent, valid(observedRevision));
        expect(installation.gitops.reports.at(-1)?.report.observedRevision).toBe(observedRevision);
      },
      { timeoutMs: 20_000, intervalMs: 500 },
    );
  }

  it.each<[string, () => Uint8Array]>([
    ['is not JSON', () => Buffer.from('{')],
    ['is empty', () => new Uint8Array()],
    ['is not UTF-8', () => Buffer.from([0xff, 0xfe, 0])],
    ['is another cluster’s', () => Buffer.from(JSON.stringify(reportOf(crypto.randomUUID())))],
    ['is nested deeper than anybody reads', () => Buffer.from('['.repeat(30_000))],
    ['is larger than 32 KiB', () => Buffer.alloc(32_769, ' ')],
    ['is nearly as large as a message may be', () => Buffer.alloc(120_000, ' ')],
    ['sets what no object should have', () => Buffer.from('{"__proto__":{"version":1},"version":1}')],
  ])('passes on none that %s, and keeps the link', async (_, make) => {
    await using agent = await ScriptedAgent.linked(subject);
    const before = installation.gitops.reports.length;
    say(agent, make());
    revision += 1;
    await arrives(agent, revision);
    expect(installation.gitops.reports.slice(before).every(({ clusterId }) => clusterId === subject.clusterId)).toBe(
      true,
    );
    expect(installation.gitops.reports.slice(before).map(({ report }) => report.observedRevision)).toEqual(
      expect.not.arrayContaining([0]),
    );
    await stillWorks(subject, agent);
  });

  it('drops a flood, and keeps the link', async () => {
    await using agent = await ScriptedAgent.linked(subject);
    const before = installation.gitops.reports.length;
    // As many as a link may say at once at all.
    for (let i = 0; i < 80; i += 1) say(agent, valid(i));
    await stillWorks(subject, agent);
    expect(agent.control.outcome).toBeNull();
    expect(installation.gitops.reports.length - before).toBeLessThanOrEqual(6);
  });
});

interface Answer {
  readonly status: number;
  readonly code: string;
  readonly piece: Buffer;
  readonly compressedBytes: number;
}

function fetchPiece(agent: ScriptedAgent, digest: string, offset = 0): Promise<Answer> {
  const stream = agent.call('FetchBundle');
  const reader = new MessageReader();
  let [status, code, piece, compressedBytes] = [-1, '', Buffer.alloc(0), 0];
  const onHeaders = (headers: Record<string, string | string[] | undefined>): void => {
    if (headers['grpc-status'] === undefined) return;
    status = Number(headers['grpc-status']);
    code = String(headers['fairlead-code'] ?? '');
  };
  stream.on('response', onHeaders);
  stream.on('trailers', onHeaders);
  stream.on('data', (chunk: Buffer) => {
    for (const message of reader.push(chunk)) {
      const answer = fromBinary(FetchBundleResponseSchema, message);
      [piece, compressedBytes] = [Buffer.from(answer.piece), answer.compressedBytes];
    }
  });
  const request = create(FetchBundleRequestSchema, { digest, offset });
  stream.end(grpcMessage(toBinary(FetchBundleRequestSchema, request)));
  return new Promise((resolve) => stream.on('close', () => resolve({ status, code, piece, compressedBytes })));
}

describe('a gateway, of bundles', () => {
  it('passes on the pieces that gitops gives, and what it refuses', async () => {
    await using linked = await ScriptedAgent.linked(subject);
    const { digest, gzip } = installation.gitops.addBundle(300_000);
    const pieces = [];
    for (let at = 0; at < gzip.length; at += pieces.at(-1)?.piece.length ?? gzip.length) {
      pieces.push(await fetchPiece(linked.agent, digest, at));
    }
    expect(pieces.map(({ compressedBytes }) => compressedBytes)).toEqual([300_000, 300_000, 300_000]);
    expect(Buffer.concat(pieces.map(({ piece }) => piece)).equals(gzip)).toBe(true);
    expect(await fetchPiece(linked.agent, '0'.repeat(64))).toMatchObject({ code: 'NOT_FOUND' });
  });

  it.each([
    ['a digest that is none', 'x', 0],
    ['a path for a digest', `../${'0'.repeat(61)}`, 0],
    ['an offset beyond any bundle', '0'.repeat(64), 0xff_ff_ff_ff],
  ])('refuses %s', async (_, digest, offset) => {
    await using linked = await ScriptedAgent.linked(subject);
    expect(await fetchPiece(linked.agent, digest, offset)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('refuses whoever shows no certificate, and one that has not said Hello', async () => {
    await using unauthenticated = await ScriptedAgent.dial(subject, null);
    await using silent = await ScriptedAgent.dial(subject);
    expect(await fetchPiece(unauthenticated, '0'.repeat(64))).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(await fetchPiece(silent, '0'.repeat(64))).toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('gives a cluster so many pieces and no more, and its link stays', async () => {
    await using linked = await ScriptedAgent.linked(subject);
    const { digest } = installation.gitops.addBundle(1_000);
    const answers = await Promise.all(Array.from({ length: 60 }, () => fetchPiece(linked.agent, digest)));
    const limited = answers.filter(({ code }) => code === 'RATE_LIMITED').length;
    expect(limited).toBeGreaterThan(40);
    await stillWorks(subject, linked);
  });
});

import { Code, ConnectError } from '@connectrpc/connect';
import { create } from '@bufbuild/protobuf';
import { systemClock, type Clock } from '@fairlead/clock';
import { HANDOVER, Handover } from '@fairlead/desired-state/carried';
import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { silentLogger, type Logger } from '@fairlead/observability';
import { SignedDesiredStateSchema, type SignedDesiredState } from '@fairlead/proto';
import { toConnectError } from '@fairlead/tunnel/link';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentIdentity } from '../agent-identity.js';
import { GitOpsCarrier } from './gitops-carrier.js';
import type { CarryingLink, HandoverMaps } from './ports.js';

const { desiredState: STATE, report: REPORT, bundle: BUNDLE } = HANDOVER;
const DIGEST = 'ab'.repeat(32);
const identity: AgentIdentity = {
  clusterId: '5bd1f0f0-35c6-4a6c-9f58-6d7f6f1c2a11',
  generation: 1,
  trustDomain: 'fairlead.local',
  keyPem: 'the private key',
  chainPem: ['chain'],
  rootsPem: ['-----BEGIN CERTIFICATE-----\nroot'],
  trustVersion: 1,
};

type Values = Record<string, string>;
let maps: Map<string, Values>;
let binary: Map<string, Values>;
let refusing: ErrorCode | null;
let calls: string[];
let logged: string[];
let carrier: GitOpsCarrier;
let stopping: AbortController;
let running: Promise<void>;

// Fake timers move `Date` and not `performance` in the same steps.
const clock: Clock = { ...systemClock, monotonicMs: () => Date.now() };
const logger = {
  ...silentLogger,
  debug: (event: string) => void logged.push(`debug ${event}`),
  info: (event: string) => void logged.push(event),
  warn: (event: string) => void logged.push(event),
} as Logger;

const port: HandoverMaps = {
  read: (name) => {
    calls.push(`read ${name}`);
    const values = maps.get(name);
    if (refusing) return Promise.reject(new FairleadError(refusing, 'as scripted'));
    return values ? Promise.resolve({ ...values }) : Promise.reject(new FairleadError('NOT_FOUND', 'there is none'));
  },
  write: (name, { data = {}, binaryData = {} }) => {
    calls.push(`write ${name}`);
    const values = maps.get(name);
    if (refusing) return Promise.reject(new FairleadError(refusing, 'as scripted'));
    if (!values) return Promise.reject(new FairleadError('NOT_FOUND', 'there is none'));
    Object.assign(values, data);
    binary.set(name, { ...binary.get(name), ...binaryData });
    return Promise.resolve();
  },
};

function begin(own: AgentIdentity = identity): void {
  stopping = new AbortController();
  carrier = new GitOpsCarrier({ maps: port, identity: own, logger, clock });
  running = carrier.run(stopping.signal);
}

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-01-01T00:00:00Z') });
  maps = new Map([
    [STATE, {}],
    [REPORT, {}],
    [BUNDLE, {}],
  ]);
  [binary, refusing, calls, logged] = [new Map(), null, [], []];
});
afterEach(async () => {
  stopping.abort();
  await running;
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const state = (revision: number, changes: Partial<SignedDesiredState> = {}): SignedDesiredState =>
  create(SignedDesiredStateSchema, {
    revision: BigInt(revision),
    document: Buffer.from(`state ${revision}`),
    signerChainPem: ['-----BEGIN CERTIFICATE-----\nsigner'],
    signature: Buffer.from('signature'),
    ...changes,
  });
const handedOver = (): Handover => Handover.parse(JSON.parse(maps.get(STATE)?.['handover'] ?? ''));
const documentOf = ({ desiredState }: Handover): string =>
  Buffer.from(desiredState?.document ?? '', 'base64').toString('utf8');
const writes = (): string[] => calls.filter((call) => call.startsWith('write'));

describe('what is wanted of the cluster', () => {
  it('is written with the roots, nothing secret beside it, and told as what is held', async () => {
    begin();
    await pass(0);
    expect(carrier.desired.revision).toBe(0);
    carrier.desired.take(state(7));
    await pass(2_000);
    expect(documentOf(handedOver())).toBe('state 7');
    expect(handedOver().roots).toEqual(identity.rootsPem);
    expect(JSON.stringify([...maps])).not.toContain('private key');
    expect(carrier.desired.revision).toBe(7);
  });

  it('is written when it changed, and not again because it is told again', async () => {
    begin();
    for (let i = 0; i < 20; i += 1) {
      carrier.desired.take(state(7));
      await pass(10_000);
    }
    expect(writes()).toEqual([`write ${STATE}`]);
    carrier.desired.take(state(6));
    await pass(2_000);
    expect([documentOf(handedOver()), carrier.desired.revision]).toEqual(['state 6', 6]);
  });

  it('however fast it changes, is written once in a second, and the last of it stays', async () => {
    begin();
    for (let revision = 1; revision <= 1_000; revision += 1) {
      carrier.desired.take(state(revision));
      await pass(10);
    }
    await pass(2_000);
    expect(writes().length).toBeLessThanOrEqual(13);
    expect(documentOf(handedOver())).toBe('state 1000');
  });

  it('is still known after a restart, but is wanted again when it was taken 12 hours ago', async () => {
    begin();
    carrier.desired.take(state(7));
    await pass(2_000);
    stopping.abort();
    await running;
    begin();
    await pass(0);
    expect(carrier.desired.revision).toBe(7);
    await pass(12 * 3_600_000);
    expect(carrier.desired.revision).toBe(0);
    carrier.desired.take(state(7));
    await pass(2_000);
    expect(carrier.desired.revision).toBe(7);
  });

  it('of another cluster, whose the agent was before, counts for nothing', async () => {
    begin();
    carrier.desired.take(state(7));
    await pass(2_000);
    stopping.abort();
    await running;
    begin({ ...identity, clusterId: '6bd1f0f0-35c6-4a6c-9f58-6d7f6f1c2a11' });
    await pass(2_000);
    expect(carrier.desired.revision).toBe(0);
    carrier.desired.take(state(2));
    await pass(2_000);
    expect([documentOf(handedOver()), carrier.desired.revision]).toEqual(['state 2', 2]);
  });

  it('goes with newer roots when those change', async () => {
    begin();
    carrier.desired.take(state(7));
    await pass(2_000);
    const rootsPem = ['-----BEGIN CERTIFICATE-----\nnext', ...identity.rootsPem];
    const signedTrust = { document: 'AAAA', signerChain: ['-----BEGIN CERTIFICATE-----\nkeys'], signature: 'BBBB' };
    carrier.identityChanged({ ...identity, rootsPem, trustVersion: 2, signedTrust });
    await pass(2_000);
    expect(handedOver()).toMatchObject({ roots: rootsPem, trust: signedTrust });
    expect(documentOf(handedOver())).toBe('state 7');
  });

  it('is put back when somebody changed it', async () => {
    begin();
    carrier.desired.take(state(7));
    await pass(2_000);
    maps.set(STATE, { handover: '{' });
    await pass(500_000);
    expect(documentOf(handedOver())).toBe('state 7');
  });

  it.each<[string, Partial<SignedDesiredState>]>([
    ['is larger than any', { document: new Uint8Array(40_000) }],
    ['has no revision', { revision: 0n }],
    ['has a revision beyond all', { revision: 2n ** 60n }],
    ['nobody signed', { signerChainPem: [] }],
  ])('that %s is not written', async (_, changes) => {
    begin();
    carrier.desired.take(state(1));
    await pass(2_000);
    carrier.desired.take(state(2, changes));
    await pass(2_000);
    expect(documentOf(handedOver())).toBe('state 1');
  });

  it('waits while the API server is away', async () => {
    refusing = 'UNAVAILABLE';
    begin();
    carrier.desired.take(state(7));
    await pass(60_000);
    refusing = null;
    await pass(61_000);
    expect(documentOf(handedOver())).toBe('state 7');
  });
});

describe('a cluster without an installer', () => {
  it.each<ErrorCode>(['NOT_FOUND', 'FORBIDDEN'])('(%s) costs a look now and then, and one line', async (code) => {
    refusing = code;
    begin();
    carrier.desired.take(state(7));
    await pass(3_600_000);
    expect(logged).toEqual(['debug desired_state.no_installer']);
    expect(calls.length).toBeGreaterThan(5);
    expect(calls.length).toBeLessThan(30);
    expect(new Set(calls)).toEqual(new Set([`read ${STATE}`]));
    refusing = null;
    await pass(600_000);
    expect(documentOf(handedOver())).toBe('state 7');
  });
});

class TestLink implements CarryingLink {
  readonly said: string[] = [];
  pieces: CarryingLink['fetchBundle'] = () => Promise.reject(new ConnectError('no such call', Code.Unimplemented));
  asked = 0;

  report(json: Uint8Array): void {
    this.said.push(Buffer.from(json).toString('utf8'));
  }

  fetchBundle(...call: Parameters<CarryingLink['fetchBundle']>) {
    this.asked += 1;
    return this.pieces(...call);
  }
}

describe('what the installer says', () => {
  it('goes up on one link when it changed, once in 2.5 s, and on another when that one is lost', async () => {
    begin();
    const [one, two] = [new TestLink(), new TestLink()];
    for (const link of [one, two]) carrier.linked(link);
    maps.set(REPORT, { report: 'first' });
    await pass(10_000);
    expect([one.said, two.said]).toEqual([['first'], []]);
    maps.set(REPORT, { report: 'second' });
    await pass(10_000);
    carrier.unlinked(one);
    await pass(10_000);
    expect([one.said, two.said]).toEqual([['first', 'second'], ['second']]);
  });

  it('is said again after five minutes or so', async () => {
    begin();
    const link = new TestLink();
    carrier.linked(link);
    maps.set(REPORT, { report: 'quiet' });
    await pass(3_600_000);
    expect(link.said.length).toBeGreaterThanOrEqual(9);
    expect(link.said.length).toBeLessThanOrEqual(17);
  });

  it('is said again at once where no link stood when it was due', async () => {
    begin();
    const [one, two] = [new TestLink(), new TestLink()];
    carrier.linked(one);
    maps.set(REPORT, { report: 'quiet' });
    await pass(10_000);
    carrier.unlinked(one);
    await pass(3_600_000);
    carrier.linked(two);
    await pass(10_000);
    expect(two.said).toEqual(['quiet']);
  });

  it('however often it changes, and is not said at all if it is too large', async () => {
    begin();
    const link = new TestLink();
    carrier.linked(link);
    for (let i = 0; i < 600; i += 1) {
      maps.set(REPORT, { report: `report ${i}` });
      await pass(100);
    }
    expect(link.said.length).toBeLessThanOrEqual(25);
    const before = link.said.length;
    maps.set(REPORT, { report: 'x'.repeat(32_769) });
    await pass(60_000);
    expect(link.said.length).toBe(before);
    expect(logged).toContain('installer.report.too_large');
  });
});

describe('a bundle', () => {
  const gzip = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
  const answer: CarryingLink['fetchBundle'] = ({ offset }) =>
    Promise.resolve({ piece: gzip.subarray(offset, offset + 131_072), compressedBytes: gzip.length });
  const brought = (): boolean => Buffer.from(binary.get(BUNDLE)?.[HANDOVER.keys.bundle] ?? '', 'base64').equals(gzip);

  function wanting(pieces: CarryingLink['fetchBundle']): TestLink {
    begin();
    const link = new TestLink();
    link.pieces = pieces;
    carrier.linked(link);
    maps.set(REPORT, { report: JSON.stringify({ wantedBundle: DIGEST }) });
    return link;
  }

  it('that the installer asks for is fetched in pieces and put there, once', async () => {
    const link = wanting(answer);
    await pass(60_000);
    expect([brought(), link.asked]).toEqual([true, 3]);
  });

  it('that is asked for long after it was brought is brought anew', async () => {
    const link = wanting(answer);
    await pass(1_200_000);
    expect(link.asked).toBeGreaterThanOrEqual(6);
    expect(link.asked).toBeLessThanOrEqual(15);
  });

  it('goes on where it broke off', async () => {
    const offsets: number[] = [];
    const link = wanting((request, options) => {
      offsets.push(request.offset);
      const failing = offsets.length === 2 || offsets.length === 3;
      const error = toConnectError(new FairleadError('RATE_LIMITED', 'wait'));
      return failing ? Promise.reject(error) : answer(request, options);
    });
    await pass(120_000);
    expect([brought(), offsets, link.asked]).toEqual([true, [0, 131_072, 131_072, 131_072, 262_144], 5]);
  });

  it.each<[string, CarryingLink['fetchBundle']]>([
    ['larger than any', () => Promise.resolve({ piece: gzip, compressedBytes: 800_000 })],
    ['without an end', () => Promise.resolve({ piece: new Uint8Array(1), compressedBytes: 700_000 })],
    ['of empty pieces', () => Promise.resolve({ piece: new Uint8Array(), compressedBytes: 700_000 })],
    ['of more than it says', () => Promise.resolve({ piece: gzip, compressedBytes: 10 })],
    [
      'of another size each time',
      ({ offset }) => Promise.resolve({ piece: gzip.subarray(0, 10), compressedBytes: 1_000 + offset }),
    ],
  ])('%s is not put there, and is asked for ever more seldom', async (_, pieces) => {
    const link = wanting(pieces);
    await pass(3_600_000);
    expect(binary.size).toBe(0);
    expect(link.asked).toBeLessThan(64 * 150);
    expect(logged).toContain('bundle.not_brought');
  });

  it('is asked for rarely at a gateway that does not know the call', async () => {
    const link = wanting(new TestLink().pieces);
    await pass(3_600_000);
    expect(link.asked).toBeGreaterThanOrEqual(3);
    expect(link.asked).toBeLessThanOrEqual(13);
  });
});

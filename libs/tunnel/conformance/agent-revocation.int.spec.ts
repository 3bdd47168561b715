import type { LogLevel } from '@fairlead/errors';
import { startInstallation, type RunningAgent, type TestInstallation } from '@fairlead/installation';
import { silentLogger, type Logger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startAgentFacingReplica, type AgentFacingReplica } from './scripted-replica.js';

/** Nothing that an agent does with what it is told depends on it, and on a busy machine a handshake has to be over before. */
const LIFE_MS = 15_000;

let installation: TestInstallation;
let taken: AgentFacingReplica;
let other: AgentFacingReplica;
let agent: RunningAgent;
let failures: unknown[];
let beganMs: number;
let endsMs: number;

beforeEach(async () => {
  installation = await startInstallation();
  const { authority } = installation;
  failures = [];
  const record = (_level: LogLevel, event: string, fields: object = {}): void =>
    void (event === 'link.failed' && failures.push(fields));
  const logger: Logger = { ...silentLogger, log: record, with: () => logger };
  // To the second, as certificates say it.
  beganMs = Math.floor(Date.now() / 1_000) * 1_000 - 60_000;
  other = await startAgentFacingReplica(authority, await certificate('gateway-b', beganMs));
  endsMs = Date.now() + LIFE_MS;
  taken = await startAgentFacingReplica(authority, await certificate('gateway-a', beganMs, endsMs));
  const endpoints = [taken.address, other.address];
  agent = await installation.startAgent({ replicas: [], endpoints, links: 2, apiPort: 1, trustVersion: 1, logger });
});

afterEach(async () => {
  await agent?.stop();
  for (const replica of [taken, other]) await replica?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
});

const certificate = (name: string, fromMs: number, untilMs = Date.now() + 3_600_000) =>
  installation.authority.gateway(name, { notBefore: new Date(fromMs), notAfter: new Date(untilMs) });

it('the agent, told by another gateway that one is revoked, ends a link that is older than its certificate’s life, and links to its successor', async () => {
  expect([taken.links.length, other.links.length]).toEqual([1, 1]);
  await eventually(() => expect(Date.now()).toBeGreaterThan(endsMs + 1_000), { timeoutMs: 40_000 });
  expect(taken.links[0]?.session.destroyed).toBe(false);
  const fencedGateways = [{ name: 'gateway-a', through: beganMs / 1_000 }];
  const { bundle, signerChain, signature } = await installation.ca.bundle({ version: 2, fencedGateways });
  const [bytes, proof] = [Buffer.from(bundle, 'base64'), Buffer.from(signature, 'base64')];
  other.links[0]?.say({ case: 'trust', value: { bundle: bytes, signerChainPem: [...signerChain], signature: proof } });
  await eventually(() => expect(taken.links[0]?.session.destroyed).toBe(true));
  expect(other.links[0]?.session.destroyed).toBe(false);
  expect(JSON.parse(agent.stored['identity'] ?? '{}')).toMatchObject({ trustVersion: 2, fencedGateways });
  // One that nobody listed, and that has not ended.
  taken.certify(await certificate('gateway-a', beganMs));
  const refused = { code: 'UNTRUSTED_PEER', reason: expect.stringContaining('revoked') as string };
  await eventually(() => expect(failures).toContainEqual(expect.objectContaining(refused)), { timeoutMs: 60_000 });
  expect(taken.links).toHaveLength(1);
  // What the honest gateway of this name gets next, however soon.
  taken.certify(await certificate('gateway-a', beganMs + 1_000));
  await eventually(() => expect(taken.links).toHaveLength(2), { timeoutMs: 60_000 });
});

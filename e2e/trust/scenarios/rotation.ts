import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import type { Findings } from '../../chaos/findings.js';
import type { AnyWorld } from '../../chaos/any-world.js';
import type { Scenario } from '../../chaos/scenario.js';
import { fleetCluster, startAgentFleet } from '../../support/agent-fleet.js';
import { allLinked, sessionIds } from '../../support/links.js';
import { invite, readInvitation, startLooseAgent, type Invitation } from '../../support/loose-agent.js';
import { startTcpAgent } from '../../support/tcp-agent.js';
import { startTcpTarget } from '../../support/tcp-target.js';
import { kubectl, startTestStack } from '../../support/test-stack.js';
import type { TrustSizes } from '../sizes.js';
import { fairlead } from '../../support/fairlead.js';
import { activePin, caStatus, untilOnlyWaitsFor, type CaStatus } from './ca.js';
import { startLoad, type Load } from './load.js';

const LINKS = 2;
/** Agents hear of a bundle in seconds; they replace a certificate of a minute's life within one. */
const STEP_MS = 180_000;
const AFTER_MS = 5_000;

/**
 * The root is replaced while every door is used: two agents are away from before the beginning; one comes back before the
 * old root is retired, its certificate long expired, the other one too late.
 */
export const rotation: Scenario<AnyWorld, TrustSizes> = {
  letter: 'r',
  title: 'the root is rotated under load',
  async run(_world, sizes, findings) {
    await using resources = new AsyncDisposableStack();
    const target = resources.use(await startTcpTarget());
    const lifeSeconds = sizes.rotationLifeSeconds;
    const { stack } = resources.use(await startTestStack({ links: LINKS, certificateTtlSeconds: lifeSeconds }));
    const targets = [target.address];
    const names = Array.from({ length: sizes.processes }, (_, index) => `process-${index}`);
    for (const cluster of names) resources.use(await startTcpAgent(stack, { cluster, links: LINKS, targets }));
    const endpoints = stack.gateways.map(({ linkAddress }) => linkAddress);
    const fleet = resources.use(await startAgentFleet(stack, { links: LINKS, endpoints, targets }));
    await fleet.join(sizes.inOneProcess);
    const inFleet = Array.from({ length: sizes.inOneProcess }, (_, id) => fleetCluster(id));
    const away = await leave(stack, 'away');
    const gone = await leave(stack, 'gone');
    const leftMs = performance.now();
    findings.figure(
      'agents',
      `${sizes.processes} processes of their own, ${sizes.inOneProcess} in one, 1 demo, 2 away`,
    );
    const before = await allLinked(stack, LINKS * (names.length + inFleet.length + 1));
    const load = await startLoad({ stack, target, clusters: [...names, ...inFleet], lifeSeconds });
    resources.use(load);
    const pin = activePin(await caStatus(stack));
    await prepareAndActivate(stack, findings);
    await sleep(Math.max(0, (lifeSeconds + 2) * 1_000 - (performance.now() - leftMs)));
    await comesBack(stack, away, findings);
    await retire(stack, findings);
    const after = await caStatus(stack);
    findings.must(activePin(after) !== pin, 'the active root is still the old one');
    findings.must(after.rotation === null, 'the rotation is not over');
    await stranded(stack, gone, findings);
    await sleep(AFTER_MS);
    await judge(stack, { load, before }, findings);
  },
};

interface Left {
  readonly cluster: string;
  readonly invitation: Invitation;
  readonly identity: string;
}

/** An agent that enrolled, linked, and was switched off. */
async function leave(stack: Stack, cluster: string): Promise<Left> {
  const invitation = await invite(stack, cluster);
  await using agent = await startLooseAgent(stack, { invitation });
  await agent.event('link.established');
  return { cluster, invitation, identity: await agent.identity() };
}

async function prepareAndActivate(stack: Stack, findings: Findings): Promise<void> {
  let fromMs = performance.now();
  await fairlead(stack, 'ca', 'prepare');
  const { rotation: prepared } = await untilOnlyWaitsFor(stack, ['away', 'gone'], STEP_MS);
  findings.figure('clusters that trust the next root', `${prepared?.clustersDone} of ${prepared?.clusters}`);
  findings.figure('all that are there trust it after', (performance.now() - fromMs) / 1_000, 's');
  await refused(stack, 'activate', ['away', 'gone'], findings);
  fromMs = performance.now();
  await fairlead(stack, 'ca', 'activate', '--force', '--yes');
  await untilReplaced(stack);
  findings.figure('all that are there have a certificate of it after', (performance.now() - fromMs) / 1_000, 's');
}

/** Clients renew by themselves here, and their old certificates have to end. */
function untilReplaced(stack: Stack): Promise<CaStatus> {
  return untilOnlyWaitsFor(stack, ['away', 'gone'], STEP_MS);
}

async function comesBack(stack: Stack, { invitation, identity }: Left, findings: Findings): Promise<void> {
  const fromMs = performance.now();
  await using agent = await startLooseAgent(stack, { invitation, identity });
  await agent.event('link.established');
  findings.figure(
    'the one whose certificate expired meanwhile is back after',
    (performance.now() - fromMs) / 1_000,
    's',
  );
  await untilOnlyWaitsFor(stack, ['gone'], STEP_MS);
}

async function retire(stack: Stack, findings: Findings): Promise<void> {
  await refused(stack, 'retire', ['gone'], findings);
  await fairlead(stack, 'ca', 'retire', '--force', '--yes');
}

/** Without `--force` nobody is left behind, and who would be is said. */
async function refused(stack: Stack, step: string, names: readonly string[], findings: Findings): Promise<void> {
  const { code, stderr } = await stack.cli(['ca', step]);
  findings.must(code === 1 && stderr.includes('ca status'), `ca ${step} was not refused: ${code} ${stderr}`);
  const shown = await fairlead(stack, 'ca', 'status');
  for (const name of names) findings.must(shown.includes(name), `ca status does not name ${name}: ${shown}`);
}

/** Past the overlap: a clear error, and the way back that it names. */
async function stranded(stack: Stack, { invitation, identity, cluster }: Left, findings: Findings): Promise<void> {
  {
    await using agent = await startLooseAgent(stack, { invitation, identity });
    // Replicas drop what vouched for the old root within seconds; until then it is told that its certificate is worth nothing.
    const { reason, next } = await agent.event('trust.lost', STEP_MS);
    findings.figure('the one that comes too late is told', `${String(reason)} next: ${String(next)}`);
    findings.must(String(next).includes(`cluster import`), `it was not told the way back: ${String(next)}`);
  }
  const fresh = readInvitation(await fairlead(stack, 'cluster', 'import', cluster));
  await using back = await startLooseAgent(stack, { invitation: fresh, identity });
  await back.event('link.established');
}

async function judge(
  stack: Stack,
  { load, before }: { load: Load; before: readonly string[] },
  findings: Findings,
): Promise<void> {
  findings.figure('requests meanwhile', load.asked);
  findings.figure('failed', load.failures.length);
  findings.must(load.failures.length === 0, `failed: ${load.failures.slice(0, 5).join('; ')}`);
  const now = new Set(await sessionIds(stack));
  const lost = before.filter((id) => !now.has(id));
  findings.figure(
    'links that stood at the beginning and at the end',
    `${before.length - lost.length} of ${before.length}`,
  );
  findings.must(lost.length === 0, `${lost.length} links were dropped`);
  // Its file was written before the rotation began.
  for (const { name } of stack.gateways) {
    await eventually(() => kubectl(stack, name, ['get', 'namespaces'])).catch((error: Error) =>
      findings.must(false, `a kubeconfig made before: ${error.message}`),
    );
  }
}

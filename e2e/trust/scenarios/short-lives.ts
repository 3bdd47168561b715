import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack } from '@fairlead/stack';
import type { AnyWorld } from '../../chaos/any-world.js';
import type { Scenario } from '../../chaos/scenario.js';
import { allLinked, sessionIds } from '../../support/links.js';
import { startTcpAgent } from '../../support/tcp-agent.js';
import { startTcpTarget } from '../../support/tcp-target.js';
import { startTestStack } from '../../support/test-stack.js';
import { watchKubectl } from '../../support/watching.js';
import type { TrustSizes } from '../sizes.js';
import { fairlead } from '../../support/fairlead.js';
import { startLoad } from './load.js';

const LINKS = 2;
const CLUSTERS = ['short-a', 'short-b'];

/** Certificates of gateways, doors and agents live for seconds, again and again, under load. */
export const shortLives: Scenario<AnyWorld, TrustSizes> = {
  letter: 's',
  title: 'certificates that live for seconds',
  async run(_world, { shortLifeSeconds: lifeSeconds, shortForSeconds }, findings) {
    await using resources = new AsyncDisposableStack();
    const target = resources.use(await startTcpTarget());
    const { stack } = resources.use(await startTestStack({ links: LINKS, certificateTtlSeconds: lifeSeconds }));
    const targets = [target.address];
    for (const cluster of CLUSTERS) resources.use(await startTcpAgent(stack, { cluster, links: LINKS, targets }));
    const before = await allLinked(stack, LINKS * (CLUSTERS.length + 1));
    const watches = stack.gateways.map(({ name }) =>
      resources.use(watchKubectl(stack, name, ['get', 'ns', '-w', '--output-watch-events'])),
    );
    await Promise.all(watches.map((each) => each.line(/ADDED +default/, 20_000)));
    const load = resources.use(await startLoad({ stack, target, clusters: CLUSTERS, lifeSeconds }));
    await sleep(shortForSeconds * 1_000);
    const now = new Set(await sessionIds(stack));
    const lost = before.filter((id) => !now.has(id));
    findings.figure('certificates live for', lifeSeconds, 's');
    findings.figure('for', shortForSeconds, 's');
    findings.figure('requests', load.asked);
    findings.figure('failed', load.failures.length);
    findings.figure(
      'links that stood at the beginning and at the end',
      `${before.length - lost.length} of ${before.length}`,
    );
    findings.must(load.failures.length === 0, `failed: ${load.failures.slice(0, 5).join('; ')}`);
    findings.must(lost.length === 0, `${lost.length} links were dropped`);
    findings.must(!watches.some((each) => each.endedYet()), 'a watch ended');
    const lives = Math.floor(shortForSeconds / lifeSeconds);
    const { certificates, generations } = await issuedTo(stack, 'demo');
    findings.figure('certificates of one agent', certificates);
    findings.must(certificates >= lives, `the agent has had ${certificates} certificates in ${lives} lives`);
    findings.must(generations === 1, `the agent enrolled ${generations} times`);
  },
};

async function issuedTo(stack: Stack, cluster: string): Promise<{ certificates: number; generations: number }> {
  const { certificates } = JSON.parse(await fairlead(stack, 'certificate', 'list', cluster, '-o', 'json')) as {
    certificates: { generation: number }[];
  };
  const generations = new Set(certificates.map(({ generation }) => generation)).size;
  return { certificates: certificates.length, generations };
}

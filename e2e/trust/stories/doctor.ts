import { eventually } from '@fairlead/testing';
import { beforeAll, expect, it } from 'vitest';
import { fairlead } from '../../support/fairlead.js';
import { invite, startLooseAgent } from '../../support/loose-agent.js';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';

interface Report {
  readonly ok: boolean;
  readonly findings: {
    readonly check: string;
    readonly subject: string;
    readonly ok: boolean;
    readonly warning: boolean;
    readonly detail: string;
    readonly remedy?: string;
  }[];
}

let running: TestStack;

beforeAll(() => {
  running = sharedStack();
});

async function examine(cluster: string): Promise<Report & { code: number | null }> {
  const { code, stdout } = await running.stack.cli(['doctor', cluster, '-o', 'json']);
  return { ...(JSON.parse(stdout) as Report), code };
}

/** The first report whose word about presence is as expected. */
function until(cluster: string, expected: (presence: Report['findings'][number]) => boolean): Promise<Report> {
  return eventually(
    async () => {
      const seen = await examine(cluster);
      const presence = seen.findings.find(({ check }) => check === 'presence');
      if (!presence || !expected(presence)) throw new Error(`presence: ${presence?.detail}`);
      return seen;
    },
    { timeoutMs: 60_000 },
  );
}

const failures = ({ findings }: Report): string[] => findings.filter(({ ok }) => !ok).map(({ check }) => check);
const remedyOf = ({ findings }: Report, check: string): string =>
  findings.find((each) => each.check === check && !each.ok)?.remedy ?? '';

it('finds all well where a cluster is linked, and asks its API server through every door', async () => {
  const report = await eventually(
    async () => {
      const seen = await examine('demo');
      if (seen.findings.some(({ check, warning }) => check === 'links' && warning)) throw new Error('one link so far');
      return seen;
    },
    { timeoutMs: 60_000 },
  );
  expect([report.code, report.ok, failures(report)]).toEqual([0, true, []]);
  const about = ['api', 'cluster', 'enrolment', 'token', 'certificate', 'presence', 'links', 'version', 'facts'];
  expect(report.findings.map(({ check }) => check)).toEqual([...about, 'door', 'door']);
  const doors = report.findings.filter(({ check }) => check === 'door');
  for (const { detail } of doors) expect(detail).toMatch(/^Kubernetes v1\.\S+, in \d+ ms$/);
});

it('says what is missing of a cluster that nobody imported, and of one that is not there', async () => {
  await fairlead(running.stack, 'cluster', 'create', 'new');
  const fresh = await examine('new');
  expect([fresh.code, failures(fresh)]).toEqual([1, ['enrolment', 'door', 'door']]);
  expect(remedyOf(fresh, 'enrolment')).toBe('fairlead cluster import new | kubectl apply -f -');
  const missing = await examine('no-such');
  expect([missing.code, failures(missing)]).toEqual([1, ['cluster']]);
});

it('says who was refused and why, and how a cluster that was cut off comes back', async () => {
  const invited = await invite(running.stack, 'cut');
  await using agent = await startLooseAgent(running.stack, { invitation: invited });
  await agent.event('link.established');
  await fairlead(running.stack, 'cluster', 'revoke', 'cut', '--reason', 'its laptop was stolen', '--yes');
  await agent.event('link.failed');
  const report = await until('cut', ({ detail }) => detail.includes('CERTIFICATE_REVOKED'));
  expect(failures(report)).toEqual(['certificate', 'presence', 'door', 'door']);
  expect(report.findings.find(({ check }) => check === 'certificate')?.detail).toContain('its laptop was stolen');
  expect(remedyOf(report, 'presence')).toContain('fairlead cluster import cut');
  expect(await fairlead(running.stack, 'cluster', 'show', 'cut')).toMatch(/last error +CERTIFICATE_REVOKED: /);
});

it.each([
  ['ahead', 280],
  ['behind', -280],
])('an agent whose clock is almost five minutes %s enrols, links and says so', async (direction, seconds) => {
  const invited = await invite(running.stack, `clock-${direction}`);
  // What the process takes for the time. OpenSSL asks the machine, so certificates are still looked at by its clock.
  const shift = `const R=Date,off=${seconds * 1_000};globalThis.Date=class extends R{constructor(...a){a.length?super(...a):super(R.now()+off)}static now(){return R.now()+off}};`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shift)}` };
  await using agent = await startLooseAgent(running.stack, { invitation: invited, env });
  const warning = await agent.event('agent.clock.skewed');
  expect(warning).toMatchObject({ level: 'warn', reason: expect.stringContaining(direction) as string });
  expect(Math.abs(Number(warning['skewSeconds']) - seconds)).toBeLessThan(10);
  await agent.event('link.established');
  // Who is online is known a moment after the link is made.
  await eventually(async () => expect(failures(await examine(`clock-${direction}`))).toEqual(['door', 'door']), {
    timeoutMs: 60_000,
  });
});

it('tells a cluster that is offline from a replica that is down', async () => {
  const agent = running.stack.process('agent-demo');
  agent.kill('SIGKILL');
  const offline = await until('demo', ({ detail }) => /offline.*UNAVAILABLE: the connection/.test(detail));
  expect(failures(offline)).toEqual(['presence', 'door', 'door']);
  const { code, stdout } = await running.stack.cli(['doctor', 'demo']);
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/\nFAIL {2}presence .*\n {6}what to do .*kubectl/) as string,
  ]);
  expect(stdout).toMatch(/3 of \d+ failed\n$/);
  await agent.restart();
  // Both: with a link to the one alone, the cluster would go with it.
  await until('demo', ({ ok, detail }) => ok && ['gateway-a', 'gateway-b'].every((name) => detail.includes(name)));
  const gateway = running.stack.process('gateway-b');
  gateway.kill('SIGKILL');
  await gateway.exited;
  const oneDown = await examine('demo');
  expect([oneDown.code, failures(oneDown)]).toEqual([1, ['door']]);
  expect(oneDown.findings.find(({ ok }) => !ok)).toMatchObject({
    subject: 'gateway-b',
    detail: expect.stringContaining('nothing listens there') as string,
  });
  // As it was found.
  await gateway.restart();
});

import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedStack } from '../../support/shared-stack.js';
import { counterOf, kubectl, whoHoldsTheLink, type TestStack } from '../../support/test-stack.js';
import { watchKubectl } from '../../support/watching.js';

/** A deadline for what takes a moment: an event that crosses gateway, relay and agent. */
const SOON_MS = 60_000;
const RELAYED = 'fairlead_gateway_relayed_tunnels_total';

let running: TestStack;
let holder: string;
let other: string;

beforeAll(async () => {
  running = sharedStack();
  ({ holder, other } = await whoHoldsTheLink(running.stack));
});

const ways = (): [string, string][] => [
  ['the replica that holds the link', holder],
  ['the replica that does not', other],
];

describe('kubectl', () => {
  it('lists namespaces through each replica, and only the one without the link relays', async () => {
    const { stack } = running;
    const sent = (gateway: string): Promise<number> => counterOf(stack, gateway, RELAYED, 'direction="out"');
    const received = (gateway: string): Promise<number> => counterOf(stack, gateway, RELAYED, 'direction="in"');
    const before = { out: await sent(other), in: await received(holder) };

    expect(await kubectl(stack, holder, ['get', 'ns'])).toContain('kube-system');
    expect(await sent(holder)).toBe(0);
    expect(await sent(other)).toBe(before.out);

    expect(await kubectl(stack, other, ['get', 'ns'])).toContain('kube-system');
    expect(await sent(other)).toBeGreaterThan(before.out);
    expect(await received(holder)).toBeGreaterThan(before.in);
    expect(await sent(holder)).toBe(0);
  });

  it('is the administrator of the cluster, as the group that the import manifest bound', async () => {
    const whoami = await kubectl(running.stack, other, ['auth', 'whoami', '-o', 'json']);
    expect(JSON.parse(whoami)).toMatchObject({
      status: { userInfo: { username: 'admin', groups: expect.arrayContaining(['fairlead:admins']) } },
    });
  });

  it('creates, watches, applies and deletes through each replica', async () => {
    const { stack } = running;
    await kubectl(stack, holder, ['create', 'configmap', 'was-there-before']);
    for (const [, gateway] of ways()) {
      const name = `cm-${gateway}`;
      await using watch = watchKubectl(stack, gateway, ['get', 'configmaps', '--watch', '--output-watch-events']);
      await watch.line(/was-there-before/, SOON_MS);
      await kubectl(stack, gateway, ['create', 'configmap', name, '--from-literal=a=1']);
      await watch.line(new RegExp(`ADDED\\s+${name}`), SOON_MS);

      const manifest = JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: 'default' },
        data: { a: '2', b: 'x'.repeat(200_000) },
      });
      const applied = await kubectl(
        stack,
        gateway,
        ['apply', '--server-side', '--force-conflicts', '-f', '-'],
        manifest,
      );
      expect(applied).toContain('serverside-applied');
      await watch.line(new RegExp(`MODIFIED\\s+${name}`), SOON_MS);
      expect(await kubectl(stack, gateway, ['get', 'cm', name, '-o', 'jsonpath={.data.a}{.data.b}'])).toBe(
        `2${'x'.repeat(200_000)}`,
      );

      await kubectl(stack, gateway, ['delete', 'configmap', name]);
      await watch.line(new RegExp(`DELETED\\s+${name}`), SOON_MS);
    }
  });

  it('is told about a cluster that there is not, in one clear line', async () => {
    const server = `--server=${running.stack.gateways[0]?.doorUrl}/clusters/nowhere`;
    const { code, stderr } = await running.stack.kubectl(['get', 'ns', server], { timeoutMs: 60_000 });
    expect(code).toBe(1);
    expect(stderr).toContain('there is no cluster "nowhere" that you may use');
  });

  it('may not act as somebody else', async () => {
    const { code, stderr } = await running.stack.kubectl(['get', 'ns', '--as=system:admin'], { timeoutMs: 60_000 });
    expect(code).toBe(1);
    expect(stderr).toContain('needs a grant that allows it');
  });
});

describe('fairlead', () => {
  it('shows the cluster as online, with the replica that holds it', async () => {
    await eventually(async () => {
      const { code, stdout } = await running.stack.cli(['cluster', 'list', '-o', 'json']);
      expect(code).toBe(0);
      const text = JSON.stringify(JSON.parse(stdout));
      expect(text).toContain('"online"');
      expect(text).toContain(holder);
    });
  });
});

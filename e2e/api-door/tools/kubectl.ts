import { spawn } from 'node:child_process';
import { findBinary } from '@fairlead/testbed';
import { beforeAll, describe, expect, it } from 'vitest';
import { SOON_MS } from '../../support/pod-streams.js';
import { watchProcess } from '../../support/watching.js';
import { sayVersion, tryTool, type Said } from '../../support/run-tool.js';
import type { ToolsWorld, Way } from './world.js';

/** Of kubectl what no other test here shows. */
export function describeKubectl(ways: readonly Way[], of: () => ToolsWorld): void {
  let path: string;
  beforeAll(async () => {
    const kubectl = await findBinary('kubectl');
    path = kubectl.path;
    sayVersion('kubectl', kubectl.version);
  });

  describe.each(ways)('kubectl by the way %s', (way) => {
    const env = (): Record<string, string> => ({ KUBECONFIG: of().kubeconfigs[way], HOME: of().dir });
    const kubectl = (...args: string[]): Promise<Said> => tryTool(path, args, env());
    const name = `${way}-kubectl`;

    it('applies on the server, and tells of a conflict with who else owns a field', async () => {
      const apply = (manager: string, word: string): Promise<Said> => {
        const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { word } };
        const script = `printf %s "$OBJECT" | "$KUBECTL" apply --server-side --field-manager=${manager} -f -`;
        return tryTool('/bin/sh', ['-c', script], { ...env(), KUBECTL: path, OBJECT: JSON.stringify(object) });
      };
      expect(await apply('one', 'first')).toMatchObject({ code: 0, stdout: `configmap/${name} serverside-applied\n` });
      const { code, stderr } = await apply('two', 'second');
      expect([code, stderr]).toEqual([1, expect.stringContaining('conflict with "one": .data.word')]);
      const printed = ['-o', 'jsonpath={.data.word}'];
      expect(await kubectl('get', 'configmap', name, ...printed)).toMatchObject({ code: 0, stdout: 'first' });
    });

    it('waits for what becomes true meanwhile', async () => {
      const args = ['wait', '--for=jsonpath={.data.word}=third', `configmap/${name}`, '--timeout=60s'];
      await using waiting = watchProcess(spawn(path, args, { env: { PATH: process.env['PATH'], ...env() } }));
      const patch = ['patch', 'configmap', name, '--type=merge', '-p', '{"data":{"word":"third"}}'];
      expect(await kubectl(...patch)).toMatchObject({ code: 0 });
      await waiting.line(/condition met/, SOON_MS);
      expect(await kubectl('wait', '--for=delete', 'configmap/nobody', '--timeout=10s')).toMatchObject({ code: 0 });
    });

    it('knows what its user may do', async () => {
      expect(await kubectl('auth', 'can-i', 'create', 'deployments.apps')).toMatchObject({ code: 0, stdout: 'yes\n' });
      expect(await kubectl('auth', 'can-i', 'create', 'pods', '--as=nobody')).not.toMatchObject({ code: 0 });
    });

    it('explains a kind, and follows a rollout', async () => {
      const explained = await kubectl('explain', 'deployment.spec.replicas');
      expect(explained).toMatchObject({ code: 0, stdout: expect.stringContaining('FIELD: replicas') as string });
      const made = await kubectl('create', 'deployment', name, '--image=shell:1', '--', '/bin/sh', '-c', 'sleep 1000');
      expect(made).toMatchObject({ code: 0 });
      expect(await kubectl('rollout', 'status', `deployment/${name}`, '--timeout=90s')).toMatchObject({ code: 0 });
      expect(await kubectl('delete', 'deployment', name, '--wait')).toMatchObject({ code: 0 });
    });

    it('says what a drain would evict, and waits for what a disruption budget forbids', async () => {
      const asked = ['--dry-run=server', '--force', '--ignore-daemonsets', '--timeout=3s'];
      const { code, stdout, stderr } = await kubectl('drain', 'node-1', ...asked);
      expect(stdout).toContain('evicting pod default/shell (server dry run)');
      // The last pod of an agent is not evicted.
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/"fairlead-agent-.*would violate the pod's disruption budget/),
      ]);
    });

    it('says clearly that there are no metrics', async () => {
      expect(await kubectl('top', 'nodes')).toMatchObject({ code: 1, stderr: 'error: Metrics API not available\n' });
    });

    it('serves the cluster to programs of this machine, watches too', async () => {
      // The server of the kubeconfig has a path, which kubectl leaves out unless it is told.
      const args = ['proxy', '--port=0', '--address=127.0.0.1', '--append-server-path'];
      await using proxy = watchProcess(spawn(path, args, { env: { PATH: process.env['PATH'], ...env() } }));
      const [address] = /127\.0\.0\.1:\d+/.exec(await proxy.line(/Starting to serve/, SOON_MS)) ?? [];
      const signal = AbortSignal.timeout(SOON_MS);
      const version = await fetch(`http://${address}/version`, { signal });
      expect(await version.json()).toMatchObject({ gitVersion: of().cluster.kube.info.version });
      const selected = `fieldSelector=metadata.name%3D${name}&watch=true&timeoutSeconds=1`;
      const watched = await fetch(`http://${address}/api/v1/namespaces/default/configmaps?${selected}`, { signal });
      expect(JSON.parse(await watched.text())).toMatchObject({ type: 'ADDED', object: { data: { word: 'third' } } });
    });
  });
}

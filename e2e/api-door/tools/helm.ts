import { join } from 'node:path';
import { findBinary } from '@fairlead/testbed';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeChart } from './helm-chart.js';
import { runTool, sayVersion, tryTool, type Said } from '../../support/run-tool.js';
import type { ToolsWorld, Way } from './world.js';

interface Release {
  readonly revision: number;
  readonly status: string;
}

/** One release from its installation to its end, by each way to the cluster. */
export function describeHelm(ways: readonly Way[], of: () => ToolsWorld): void {
  let path: string;
  let chart: string;
  beforeAll(async () => {
    const helm = await findBinary('helm');
    path = helm.path;
    sayVersion('Helm', helm.version);
    chart = await writeChart(of().dir);
  });

  describe.each(ways)('Helm by the way %s', (way) => {
    const release = `greeter-${way}`;
    const env = (): Record<string, string> => ({
      KUBECONFIG: of().kubeconfigs[way],
      // Its caches, and nothing of the user's.
      HOME: join(of().dir, `helm-${way}`),
    });
    const helm = (...args: string[]): Promise<string> => runTool(path, args, env());
    const tryHelm = (...args: string[]): Promise<Said> => tryTool(path, args, env());
    const waited = ['--wait', '--timeout', '120s'];
    const history = async (): Promise<Release[]> =>
      JSON.parse(await helm('history', release, '-o', 'json')) as Release[];
    const greeting = async (): Promise<string> => {
      const args = ['get', 'configmap', release, '-o', 'jsonpath={.data.greeting}'];
      return String((await of().kubectl(args)).stdout);
    };

    it('installs a chart, and waits until its Deployment is there', async () => {
      await helm('install', release, chart, ...waited);
      const { stdout } = await of().kubectl(['get', 'deployment', release, '-o', 'jsonpath={.status.readyReplicas}']);
      expect(String(stdout)).toBe('1');
      const listed = JSON.parse(await helm('list', '-o', 'json')) as { name: string; status: string }[];
      expect(listed.filter(({ name }) => name === release)).toMatchObject([{ status: 'deployed' }]);
    });

    it('runs the test of the release, and shows what its pod said', async () => {
      const said = await helm('test', release, '--logs', '--timeout', '120s');
      expect(said).toMatch(/Phase:\s+Succeeded/);
      expect(said).toContain('it says hello');
    });

    it('upgrades it, and tells when its test fails', async () => {
      await helm('upgrade', release, chart, '--set', 'greeting=good day', '--set', 'expected=bye', ...waited);
      expect(await greeting()).toBe('good day');
      const { code, stderr } = await tryHelm('test', release, '--timeout', '120s');
      expect([code, stderr]).toEqual([1, expect.stringContaining('failed')]);
    });

    it('rolls it back', async () => {
      await helm('rollback', release, '1', ...waited);
      expect(await greeting()).toBe('hello');
      expect((await history()).map(({ revision, status }) => [revision, status])).toEqual([
        [1, 'superseded'],
        [2, 'superseded'],
        [3, 'deployed'],
      ]);
      expect(await helm('get', 'manifest', release)).toContain('hello');
    });

    it('takes it away', async () => {
      await helm('uninstall', release, ...waited);
      const gone = ['get', 'deployment,service,configmap', '-l', `app=${release}`, '-o', 'name'];
      expect(String((await of().kubectl(gone)).stdout)).toBe('');
      const { code, stderr } = await tryHelm('status', release);
      expect([code, stderr]).toEqual([1, expect.stringContaining('release: not found')]);
    });
  });
}

import { Client } from 'pg';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startKubernetes } from '../components/kubernetes.js';
import { startNats } from '../components/nats.js';
import { startPostgres } from '../components/postgres.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { whyNoDocker } from './container.js';

describe.skipIf((await whyNoDocker()) !== undefined)('in containers', () => {
  beforeAll(() => vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'docker'));
  afterAll(() => vi.unstubAllEnvs());

  it('nats comes back after SIGKILL on the same port', async () => {
    await using dir = await temporaryDirectory();
    await using nats = await startNats({ dataDir: dir.path, log: () => {} });
    const { exited } = nats;
    nats.kill('SIGKILL');
    expect(await exited).toEqual({ code: null, signal: 'SIGKILL' });
    await nats.restart();
    expect((await fetch(`${nats.info.monitorUrl}/healthz`)).status).toBe(200);
  });

  it('postgres answers its superuser', async () => {
    await using dir = await temporaryDirectory();
    await using postgres = await startPostgres({ dataDir: dir.path, log: () => {} });
    const client = new Client({ connectionString: postgres.info.adminUrl });
    await client.connect();
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await client.end();
  });

  it('kubernetes is k3s with a kubeconfig of its own', { timeout: 300_000 }, async () => {
    await using dir = await temporaryDirectory();
    await using cluster = await startKubernetes({ dataDir: dir.path, log: () => {} });
    expect(cluster.info.adminKubeconfigPath).toBe(join(dir.path, 'admin.kubeconfig'));
    expect(cluster.info.version).toMatch(/^v1\.34\.4/u);
  });
});

import { createServer } from 'node:net';
import { once } from 'node:events';
import { silentLogger } from '@fairlead/observability';
import { describe, expect, it } from 'vitest';
import { ProcessHost, type ProcessOptions } from './process-host.js';

const CONFIG: ProcessOptions['config'] = {
  FAIRLEAD_LOG_LEVEL: 'info',
  FAIRLEAD_NATS_URL: 'nats://127.0.0.1:1',
  FAIRLEAD_NATS_SEED_FILE: '/nowhere',
  FAIRLEAD_INSECURE_PLAINTEXT: false,
  FAIRLEAD_CREDENTIAL: 'keys-1',
};

function hostWith(config: Partial<ProcessOptions['config']> = {}): ProcessHost {
  const signal = new AbortController().signal;
  return new ProcessHost({ role: 'keys', config: { ...CONFIG, ...config }, logger: silentLogger, signal });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

describe('ProcessHost', () => {
  it('names itself by its role and its credential', async () => {
    await using host = hostWith();
    expect(host.source).toEqual({ role: 'keys', credential: 'keys-1' });
  });

  it('ends what was begun last first', async () => {
    const ended: string[] = [];
    const host = hostWith();
    host.defer(() => void ended.push('first'));
    host.use({ [Symbol.dispose]: () => void ended.push('second') });
    host.defer(async () => void ended.push('third'));
    await host[Symbol.asyncDispose]();
    expect(ended).toEqual(['third', 'second', 'first']);
  });

  it('is ready when all checks are, shows them in order, and stops showing when it ends', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const check = { name: 'own', ok: false };
    {
      await using host = hostWith({ FAIRLEAD_HEALTH_LISTEN: url.slice('http://'.length) });
      await host.serveHealth();
      host.addChecks(() => [check]);
      host.addChecks(() => [{ name: 'other', ok: true }]);
      const before = await fetch(`${url}/readyz`);
      expect(before.status).toBe(503);
      expect(host.readiness().map(({ name }) => name)).toEqual(['own', 'other']);
      check.ok = true;
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
    }
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
  });

  it('shows other reasons than its own where it is told to', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    await using host = hostWith({ FAIRLEAD_HEALTH_LISTEN: url.slice('http://'.length) });
    host.addChecks(() => [{ name: 'own', ok: true }]);
    await host.serveHealth({ readiness: () => [{ name: 'started', ok: false }], views: { '/view': () => ({ a: 1 }) } });
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    expect(await (await fetch(`${url}/view`)).json()).toEqual({ a: 1 });
  });

  it('refuses a seed that it cannot read, and adds no check', async () => {
    await using host = hostWith();
    await expect(host.joinNats()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(host.readiness()).toEqual([]);
  });
});

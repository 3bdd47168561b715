import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectl, scratchStateDir, startTestStack, type TestStack } from '../support/test-stack.js';

const ROOT = join(import.meta.dirname, '../..');

let tree: string;
let running: TestStack;

// What the Dockerfile copies into the agent's image is made by the same script; an image builder is not at hand everywhere.
beforeAll(async () => {
  tree = await scratchStateDir();
  // It runs once as the image's user, who has to pass through.
  chmodSync(tree, 0o755);
  execFileSync(process.execPath, ['tools/image/assemble.mjs', 'agent', tree], { cwd: ROOT });
  execFileSync('chmod', ['-R', 'a-w,a+rX', tree]);
  running = await startTestStack({ agentMain: join(tree, 'apps/agent/dist/bundle/main.js') });
});

afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  execFileSync('chmod', ['-R', 'u+w', tree]);
  await rm(tree, { recursive: true, force: true });
});

describe('the files of the agent’s image', () => {
  it('serve a cluster, as a user without rights on a read-only tree', async () => {
    for (const { name } of running.stack.gateways)
      expect(await kubectl(running.stack, name, ['get', 'ns'])).toContain('default');
    const { pid } = running.stack.process('agent-demo');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, uid] = /^Uid:\t(\d+)/m.exec(status) ?? [];
    // Only root can become the image's user; anybody else runs it as themselves.
    expect(uid).toBe(process.getuid?.() === 0 ? '65532' : String(process.getuid?.()));
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toContain(tree);
  });

  it('hold what the agent needs and no more: no NATS, database, Nest or Kubernetes client, and no test', () => {
    const files = readdirSync(tree, { recursive: true, encoding: 'utf8' });
    const maps = files.filter((file) => file.endsWith('.map')).map((file) => readFileSync(join(tree, file), 'utf8'));
    const sources = maps.flatMap((map) => (JSON.parse(map) as { sources: string[] }).sources);
    expect(sources.filter((path) => path.includes('/pino/')).length).toBeGreaterThan(0);
    expect([...files, ...sources].filter((path) => /\.spec\.|\/testing\//.test(path))).toEqual([]);
    expect([...files, ...sources].filter((path) => /@nestjs|@nats-io|typeorm|@kubernetes|\/pg\//.test(path))).toEqual(
      [],
    );
    const bytes = files
      .map((file) => statSync(join(tree, file)))
      .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
    expect(bytes).toBeLessThan(10 * 1024 * 1024);
  });
});

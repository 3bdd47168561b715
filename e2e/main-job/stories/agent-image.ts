import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentImageTree } from '../../support/agent-image.js';
import { sharedStack } from '../../support/shared-stack.js';
import { kubectl } from '../../support/test-stack.js';

describe('the files of the agent’s image', () => {
  it('serve a cluster, as a user without rights on a read-only tree', async () => {
    const { stack } = sharedStack();
    for (const { name } of stack.gateways) expect(await kubectl(stack, name, ['get', 'ns'])).toContain('default');
    const { pid } = stack.process('agent-demo');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, uid] = /^Uid:\t(\d+)/m.exec(status) ?? [];
    // Only root can become the image's user; anybody else runs it as themselves.
    expect(uid).toBe(process.getuid?.() === 0 ? '65532' : String(process.getuid?.()));
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toContain(agentImageTree());
  });

  it('hold what the agent needs and no more: no NATS, database, Nest or Kubernetes client, and no test', () => {
    const tree = agentImageTree();
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

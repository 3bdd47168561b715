import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { pythonWith } from '../../support/python-environment.js';
import { runTool, sayVersion } from '../../support/run-tool.js';
import type { ToolsWorld, Way } from './world.js';

/** One program on the Python client, which sees the same by each way to the cluster. */
export function describePython(ways: readonly Way[], of: () => ToolsWorld): void {
  let python: string;
  beforeAll(async () => {
    python = await pythonWith(join(import.meta.dirname, 'requirements.txt'));
  });

  it.each(ways)('the Python client by the way %s', async (way) => {
    const { dir, kubeconfigs, pods } = of();
    const program = join(import.meta.dirname, 'client.py');
    const args = [program, kubeconfigs[way], way, String(pods.webPorts[0])];
    const { version, ...seen } = JSON.parse(await runTool(python, args, { HOME: dir })) as { version: string };
    sayVersion('Python client', version);
    expect(seen).toEqual({
      objects: {
        before: 0,
        read: { word: 'two' },
        watched: [
          ['ADDED', 'one'],
          ['MODIFIED', 'two'],
          ['DELETED', 'two'],
        ],
      },
      refused: [404, 'NotFound'],
      command: { stdout: 'got hello\n', stderr: 'oh\n', code: 3 },
      forwarded: ['HTTP/1.1 200 OK', true, null],
    });
  });
}

import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { startConnectProxy } from '../support/connect-proxy.js';
import { readEvents } from '../support/events.js';
import { fairlead } from '../support/fairlead.js';
import { succeeds } from '../support/kubectl-streams.js';
import { SOON_MS, STREAM_PROTOCOLS, streamingKubectls } from '../support/pod-streams.js';
import { watchProcess } from '../support/watching.js';
import { describeStreams, startStreamingWorld, type StreamingWorld } from './world.js';

let world: StreamingWorld;
beforeAll(async () => {
  world = await startStreamingWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

// The way has nothing to do with what goes over it; the other two pairs are in streams-all.
describeStreams(
  [
    ['own', 'SPDY'],
    ['relay', 'WebSocket'],
  ],
  () => world,
);

describe.each(STREAM_PROTOCOLS)('whoever asks with %s is told', (protocol) => {
  it('what the kube-apiserver says when it refuses', async () => {
    for (const via of ['own', 'relay'] as const) {
      const { code, stderr } = await world.kubectls[via][protocol](['exec', 'nobody', '--', 'true']);
      expect([code, stderr]).toEqual([1, 'Error from server (NotFound): pods "nobody" not found\n']);
    }
  });

  it('that it is over when the agent is killed, and can begin again', async () => {
    const command = world.kubectls.relay[protocol].start(['exec', '-i', 'shell', '--', 'cat']);
    await using watch = watchProcess(command);
    const exit = once(command, 'exit');
    command.stdin.on('error', () => undefined).write('hello\n');
    await watch.line(/^hello$/, SOON_MS);
    const agent = world.stack.process('agent-demo');
    agent.kill('SIGKILL');
    // By SPDY, client-go takes the end of the connection for the end of the command, whoever carries it.
    expect(await exit).toEqual([protocol === 'SPDY' ? 0 : 1, null]);
    await agent.restart();
    await eventually(() => succeeds(world.kubectls.relay[protocol](['exec', 'shell', '--', 'true'])), {
      timeoutMs: 90_000,
    });
  });
});

describe('a cluster’s own host name', () => {
  it('serves a kubectl that knows no path: reading, and exec by either protocol', async () => {
    const { stack, dir } = world;
    await using proxy = await startConnectProxy();
    const file = join(dir, 'by-name.kubeconfig');
    await fairlead(stack, 'kubeconfig', '--all', '--by-name', '--merge', '--output', file);
    const config = parse(await readFile(file, 'utf8')) as { clusters: { cluster: Record<string, string> }[] };
    // Not every resolver knows that names below localhost are this machine's.
    for (const { cluster } of config.clusters) cluster['proxy-url'] = proxy.url;
    await writeFile(file, stringify(config));
    const hosts = config.clusters.map(({ cluster }) => new URL(cluster['server'] ?? '').host);
    const kubectls = await streamingKubectls(file, ['--context', 'demo@gateway-b']);
    const said = await kubectls.WebSocket(['get', 'pod', 'shell', '-o', 'name']);
    expect(said).toMatchObject({ code: 0, stdout: Buffer.from('pod/shell\n') });
    for (const protocol of STREAM_PROTOCOLS) {
      const { code, stdout } = await kubectls[protocol](['exec', 'shell', '--', 'sh', '-c', 'echo here; exit 3']);
      expect([code, String(stdout)]).toEqual([3, 'here\n']);
    }
    expect(hosts.every((host) => host.startsWith('demo.fairlead.localhost:'))).toBe(true);
    expect(new Set(proxy.asked)).toEqual(new Set([hosts[1]]));
  });
});

it('an auditor finds who ran what where, as kubectl asked for it', async () => {
  await succeeds(world.kubectls.relay.WebSocket(['exec', 'shell', '-c', 'main', '--', 'test', '-d', '/']));
  await eventually(async () => {
    const events = (await readEvents(world.stack)).filter(({ type }) => type.startsWith('dev.fairlead.stream.'));
    const own = events.filter(({ data }) => (data['command'] as string[]).join(' ') === 'test -d /');
    const asked = {
      kind: 'exec',
      protocol: 'websocket',
      namespace: 'default',
      object: 'pods/shell',
      container: 'main',
    };
    expect(own).toMatchObject([
      { type: 'dev.fairlead.stream.opened.v1', data: { ...asked, reason: 'OK', actor: { kind: 'user', id: 'admin' } } },
      {
        type: 'dev.fairlead.stream.ended.v1',
        data: { ...asked, reason: 'COMPLETE', streamId: own[0]?.data['streamId'] },
      },
    ]);
  });
});

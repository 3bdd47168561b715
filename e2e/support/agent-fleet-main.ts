// A process that holds many agents, each as `libs/agent` runs it, with an identity of its own that it enrolled
// for. Told what to do and asked over IPC; see agent-fleet.ts.
import { identityStore, parseEndpoint, runAgent, type TextStore } from '@fairlead/agent';
import { silentLogger, type LogFields, type Logger } from '@fairlead/observability';
import type { LogLevel } from '@fairlead/errors';
import { parseTargetRule } from '@fairlead/targets';
import type { FleetCommand, FleetMember, FleetNews } from './agent-fleet.js';

const stop = new AbortController();
const running: Promise<void>[] = [];

// It lives for what it is told, and the preload let go of the channel.
process.channel?.ref();
process.on('message', (command: FleetCommand) => {
  for (const member of command.members) running.push(runMember(member));
});
process.once('SIGTERM', () => {
  stop.abort(new Error('asked to stop'));
  void Promise.all(running).then(() => process.exit());
});

function runMember({ id, endpoints, pins, token, links, caPem, targets }: FleetMember): Promise<void> {
  const tell = (event: string, fields: LogFields): void => {
    const said = (name: string): string => JSON.stringify(fields[name] ?? '');
    const news: FleetNews = { id, event, atMs: Date.now(), code: said('code'), reason: said('reason') };
    process.send?.(news);
  };
  const agent = runAgent(
    {
      endpoints: endpoints.map((endpoint) => parseEndpoint(endpoint)),
      proxy: { noProxy: [] },
      pins,
      links,
      store: identityStore(inMemory()),
      token: () => Promise.resolve(token),
      kubeApi: { host: '127.0.0.1', port: 1, caPem, token: () => Promise.resolve('none') },
      facts: { agentVersion: 'fleet', kubernetesVersion: 'none', platform: 'test' },
      tcp: { rules: targets.map((rule) => parseTargetRule(rule)) },
      logger: newsLogger(tell),
    },
    stop.signal,
  );
  return agent.done;
}

function inMemory(): TextStore {
  let values: Readonly<Record<string, string>> = {};
  return {
    read: () => Promise.resolve({ values }),
    write: (changed) => {
      values = { ...values, ...changed };
      return Promise.resolve();
    },
  };
}

/** What an agent logs about its links is what a test wants to know. */
function newsLogger(tell: (event: string, fields: LogFields) => void): Logger {
  const log = (_level: LogLevel, event: string, fields: LogFields = {}): void => tell(event, fields);
  return {
    ...silentLogger,
    log,
    info: (event, fields = {}) => tell(event, fields),
    warn: (event, fields = {}) => tell(event, fields),
    error: (event, fields = {}) => tell(event, fields),
  };
}

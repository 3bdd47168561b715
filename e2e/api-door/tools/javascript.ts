import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { CoreV1Api, Exec, KubeConfig, Watch, type V1ConfigMap, type V1Status } from '@kubernetes/client-node';
import { beforeAll, expect, it } from 'vitest';
import { sayVersion } from '../../support/run-tool.js';
import type { ToolsWorld, Way } from './world.js';

const NAMESPACE = 'default';
const TIMEOUT_MS = 60_000;

/** The JavaScript client, in this process, by each way to the cluster. */
export function describeJavaScript(ways: readonly Way[], of: () => ToolsWorld): void {
  beforeAll(() => {
    const require = createRequire(import.meta.url);
    const { version } = require('@kubernetes/client-node/package.json') as { version: string };
    sayVersion('JavaScript client', version);
  });

  it.each(ways)('the JavaScript client by the way %s', async (way) => {
    const config = new KubeConfig();
    config.loadFromFile(of().kubeconfigs[way]);
    expect(await watched(config, `${way}-javascript`)).toEqual(['ADDED one', 'MODIFIED two', 'DELETED two']);
    expect(await executed(config)).toEqual({ stdout: 'got hello\n', stderr: 'oh\n', code: '3' });
  });
}

/** What a watch tells of an object that is made, changed and deleted meanwhile. */
async function watched(config: KubeConfig, name: string): Promise<string[]> {
  const api = config.makeApiClient(CoreV1Api);
  const fieldSelector = `metadata.name=${name}`;
  const { metadata } = await api.listNamespacedConfigMap({ namespace: NAMESPACE, fieldSelector });
  const told: string[] = [];
  const over = Promise.withResolvers<void>();
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
  const options = { fieldSelector, resourceVersion: metadata?.resourceVersion };
  const each = (type: string, { data }: V1ConfigMap): void => {
    told.push(`${type} ${data?.['word']}`);
    if (type === 'DELETED') over.resolve();
  };
  const watch = await new Watch(config).watch(path, options, each, (error) => over.reject(asError(error)));
  await api.createNamespacedConfigMap({ namespace: NAMESPACE, body: { metadata: { name }, data: { word: 'one' } } });
  const body = { metadata: { name }, data: { word: 'two' } };
  await api.replaceNamespacedConfigMap({ name, namespace: NAMESPACE, body });
  await api.deleteNamespacedConfigMap({ name, namespace: NAMESPACE });
  const late = setTimeout(() => over.reject(new Error(`only these were told: ${told.join(', ')}`)), TIMEOUT_MS);
  await over.promise.finally(() => {
    clearTimeout(late);
    watch.abort();
  });
  return told;
}

async function executed(config: KubeConfig): Promise<object> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const said = Promise.all([text(stdout), text(stderr)]);
  const ended = Promise.withResolvers<V1Status>();
  const command = ['sh', '-c', 'read word; echo got $word; echo oh >&2; exit 3'];
  const socket = await new Exec(config).exec(
    NAMESPACE,
    'shell',
    'main',
    command,
    stdout,
    stderr,
    stdin,
    false,
    ended.resolve,
  );
  stdin.write('hello\n');
  const late = setTimeout(() => ended.reject(new Error('the command did not end')), TIMEOUT_MS);
  const status = await ended.promise.finally(() => clearTimeout(late));
  socket.close();
  for (const stream of [stdout, stderr]) stream.end();
  const [out, error] = await said;
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  return { stdout: out, stderr: error, code };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(`the watch ended: ${String(error)}`);
}

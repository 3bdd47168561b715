import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { findBinary, fluxInstallManifest, freePort } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { succeeds } from '../../support/kubectl-streams.js';
import { watchProcess, type Watch } from '../../support/watching.js';
import { runTool, sayVersion } from '../../support/run-tool.js';
import type { ToolsWorld, Way } from './world.js';

const PATIENCE_MS = 120_000;
const GIT_REPOSITORY = { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'GitRepository' };
const KUSTOMIZATION = { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization' };

/**
 * Flux's kustomize-controller outside the cluster, with a kubeconfig of Fairlead's: it watches, and applies and prunes
 * what an artifact holds. The artifact is served by the test, as source-controller would.
 */
export function describeFlux(ways: readonly Way[], of: () => ToolsWorld): void {
  let path: string;
  let artifacts: Artifacts;

  beforeAll(async () => {
    const controller = await findBinary('flux-kustomize-controller');
    path = controller.path;
    sayVersion('Flux kustomize-controller', controller.version);
    artifacts = await serveArtifacts(join(of().dir, 'artifacts'));
    const definitions = parseAllDocuments(await fluxInstallManifest()).flatMap((document) => {
      const object = document.toJS() as { kind?: string } | null;
      return object?.kind === 'CustomResourceDefinition' ? [object] : [];
    });
    await applied(of(), definitions);
    await succeeds(of().kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']));
  });
  afterAll(() => artifacts?.[Symbol.asyncDispose]());

  it.each(ways)('Flux’s kustomize-controller by the way %s', async (way) => {
    const world = of();
    const namespace = `flux-${way}`;
    const metadata = { name: 'shop', namespace };
    const read = (what: string, jsonpath: string): Promise<string> =>
      world
        .kubectl(['get', what, '-n', namespace, '--ignore-not-found', '-o', `jsonpath=${jsonpath}`])
        .then(({ stdout }) => String(stdout));
    await applied(world, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
    await applied(world, [
      { ...GIT_REPOSITORY, metadata, spec: { url: 'https://git.invalid/shop', interval: '1h' } },
      {
        ...KUSTOMIZATION,
        metadata,
        spec: {
          sourceRef: { kind: 'GitRepository', name: 'shop' },
          path: './',
          prune: true,
          interval: '1h',
          targetNamespace: namespace,
        },
      },
    ]);
    await using controller = await startController(path, world.kubeconfigs[way], namespace, world.dir);
    await controller.line(/Starting workers/, PATIENCE_MS);
    for (const names of [['one', 'two'], ['two']]) {
      const artifact = await artifacts.publish(namespace, names);
      const patch = JSON.stringify({ status: { artifact } });
      const args = ['patch', 'gitrepository', 'shop', '-n', namespace, '--subresource=status', '--type=merge', '-p'];
      await succeeds(world.kubectl([...args, patch]));
      await eventually(
        async () => {
          expect(await read('kustomization/shop', '{.status.lastAppliedRevision}')).toBe(artifact.revision);
          expect(await read('configmap', '{.items[?(@.data.from=="artifact")].metadata.name}')).toBe(names.join(' '));
        },
        { timeoutMs: PATIENCE_MS, intervalMs: 500 },
      );
    }
    await succeeds(world.kubectl(['delete', 'kustomization', 'shop', '-n', namespace, '--timeout=60s']));
    expect(await read('configmap', '{.items[?(@.data.from=="artifact")].metadata.name}')).toBe('');
  });
}

async function applied({ kubectl }: ToolsWorld, items: readonly object[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await succeeds(kubectl(['apply', '--server-side', '-f', '-'], list));
}

async function startController(path: string, kubeconfig: string, namespace: string, dir: string): Promise<Watch> {
  const listen = `127.0.0.1:${await freePort()}`;
  // Outside a cluster it cannot be elected: it asks its service account for the namespace.
  const args = [`--health-addr=${listen}`, '--metrics-addr=0', '--watch-all-namespaces=false'];
  const env = {
    PATH: process.env['PATH'],
    HOME: dir,
    TMPDIR: dir,
    KUBECONFIG: kubeconfig,
    RUNTIME_NAMESPACE: namespace,
  };
  return watchProcess(spawn(path, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

/** As the status of a source has it. */
interface Artifact {
  readonly revision: string;
  readonly url: string;
  readonly digest: string;
  readonly path: string;
  readonly lastUpdateTime: string;
}

interface Artifacts extends AsyncDisposable {
  /** ConfigMaps of these names. */
  publish(repository: string, names: readonly string[]): Promise<Artifact>;
}

async function serveArtifacts(dir: string): Promise<Artifacts> {
  const files = new Map<string, Buffer>();
  const server: Server = createServer((request, answer) => {
    const found = files.get(request.url ?? '');
    answer.writeHead(found ? 200 : 404).end(found);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    publish: async (repository, names) => {
      const packed = await pack(join(dir, `${repository}-${names.join('-')}`), names);
      const digest = createHash('sha256').update(packed).digest('hex');
      const path = `${repository}/${digest}.tar.gz`;
      files.set(`/${path}`, packed);
      return {
        revision: `main@sha256:${digest}`,
        url: `http://127.0.0.1:${port}/${path}`,
        digest: `sha256:${digest}`,
        path,
        lastUpdateTime: new Date().toISOString(),
      };
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function pack(dir: string, names: readonly string[]): Promise<Buffer> {
  const content = join(dir, 'content');
  await mkdir(content, { recursive: true });
  for (const name of names) {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { from: 'artifact' } };
    await writeFile(join(content, `${name}.yaml`), JSON.stringify(object));
  }
  const archive = join(dir, 'artifact.tar.gz');
  await runTool('tar', ['-czf', archive, '-C', content, '.'], {});
  return readFile(archive);
}

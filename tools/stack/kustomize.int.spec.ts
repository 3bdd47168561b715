import { join } from 'node:path';
import { findBinary, startKubernetes, type KubeInfo, type Running } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { baseEnvironment } from './process/base-environment.js';
import { runCommand, type CommandOutput } from './process/run-command.js';
import { REPOSITORY } from './state/repository.js';

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

let scratch: ScratchDir;
let kubernetes: Running<KubeInfo>;
let kubectlPath: string;

function kubectl(args: readonly string[], stdin = ''): Promise<CommandOutput> {
  const env = { ...baseEnvironment(), KUBECONFIG: kubernetes.info.adminKubeconfigPath };
  return runCommand(kubectlPath, args, { env, stdin, timeoutMs: 60_000 });
}

const build = (overlay: string): Promise<CommandOutput> =>
  kubectl(['kustomize', join(REPOSITORY, 'k8s', 'overlays', overlay)]);

beforeAll(async () => {
  scratch = await scratchDir();
  kubernetes = await startKubernetes({ dataDir: scratch.file('kubernetes') });
  kubectlPath = (await findBinary('kubectl')).path;
});
afterAll(async () => {
  await kubernetes.stop();
  await scratch[Symbol.asyncDispose]();
});

describe.each(['single-node', 'production'])('k8s/overlays/%s', (overlay) => {
  it('builds, and a real API server takes all of it without a warning', async () => {
    const built = await build(overlay);
    expect(built).toMatchObject({ code: 0, stderr: '' });
    const applied = await kubectl(
      ['apply', '--server-side', '--force-conflicts', '--validate=strict', '-f', '-'],
      built.stdout,
    );
    expect(applied).toMatchObject({ code: 0, stderr: '' });
  });

  it('contains no Secret', async () => {
    const { stdout } = await build(overlay);
    const resources = parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
    expect(resources.map(({ kind }) => kind)).not.toContain('Secret');
    expect(resources.map(({ kind }) => kind)).toContain('StatefulSet');
  });
});

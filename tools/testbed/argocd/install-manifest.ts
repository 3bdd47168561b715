import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FindOptions } from '../binaries/find-binary.js';
import { goModuleDir } from '../binaries/go-module.js';
import { kustomize } from '../components/kustomize.js';
import { freePort } from '../process/ports.js';
import { ARGOCD_MODULE, ARGOCD_NAMESPACE } from './pins.js';

/**
 * Upstream's `core-install.yaml` (YAML) in the namespace `argocd`, which upstream leaves to the one who applies it: application
 * controller, repo server, Redis. All pods share this machine's ports, so the controller, which listens on all addresses, has a port
 * of its own for metrics and health, another one each time this is called; and there is no controller of application sets, whose
 * ports would be those of the repo server's Service. Needs Go; throws TestbedError when the module cannot be had or is not the
 * pinned one.
 */
export async function argocdInstallManifest(options: FindOptions = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-argocd-'));
  try {
    const module = await goModuleDir(ARGOCD_MODULE);
    await cp(join(module, 'manifests/core-install.yaml'), join(dir, 'core-install.yaml'));
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ARGOCD_NAMESPACE } };
    await writeFile(join(dir, 'namespace.yaml'), JSON.stringify(namespace));
    await writeFile(join(dir, 'kustomization.yaml'), JSON.stringify(kustomization(await freePort())));
    return await kustomize(dir, options);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function kustomization(controllerPort: number): object {
  const container = '/spec/template/spec/containers/0';
  const leftOut = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'argocd-applicationset-controller' } };
  return {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace: ARGOCD_NAMESPACE,
    resources: ['namespace.yaml', 'core-install.yaml'],
    patches: [
      { patch: JSON.stringify({ $patch: 'delete', ...leftOut }) },
      patch('StatefulSet', 'argocd-application-controller', [
        { op: 'add', path: `${container}/args/-`, value: `--metrics-port=${controllerPort}` },
        { op: 'replace', path: `${container}/ports/0/containerPort`, value: controllerPort },
        { op: 'replace', path: `${container}/readinessProbe/httpGet/port`, value: controllerPort },
      ]),
      patch('Service', 'argocd-metrics', [{ op: 'replace', path: '/spec/ports/0/targetPort', value: controllerPort }]),
      // Upstream's question goes on to `localhost`, where this pod does not listen here.
      patch('Deployment', 'argocd-repo-server', [
        { op: 'replace', path: `${container}/livenessProbe/httpGet/path`, value: '/healthz' },
      ]),
    ],
  };
}

const patch = (kind: string, name: string, operations: readonly object[]) => ({
  target: { kind, name },
  patch: JSON.stringify(operations),
});

import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { goModuleDir } from '../binaries/go-module.js';
import type { FindOptions } from '../binaries/find-binary.js';
import { kustomize } from '../components/kustomize.js';
import { FLUX_CONTROLLERS, FLUX_MODULES } from './pins.js';

/** What of upstream's kustomizations a `flux install` with these two controllers uses; the rest names more of them. */
const INSTALL = {
  namespace: 'flux-system',
  resources: ['namespace.yaml', ...FLUX_CONTROLLERS.map((name) => `../bases/${name}`), '../rbac', '../policies'],
  transformers: ['labels.yaml'],
  images: FLUX_CONTROLLERS.map((name) => ({ name: `fluxcd/${name}`, newName: `ghcr.io/fluxcd/${name}` })),
  // Without a notification-controller there is nobody to send events to.
  patches: [
    {
      target: { kind: 'Deployment' },
      patch: JSON.stringify([
        { op: 'replace', path: '/spec/template/spec/containers/0/args/0', value: '--events-addr=' },
      ]),
    },
  ],
};

/**
 * Upstream's `install.yaml` (YAML) for a Flux of source-controller and kustomize-controller alone, as `flux install
 * --components` makes it: assembled with kustomize from the manifests in the Go modules of Flux and of the two controllers. Needs
 * Go; throws TestbedError when a module cannot be had or is not the pinned one.
 */
export async function fluxInstallManifest(options: FindOptions = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-flux-'));
  try {
    await assemble(dir);
    return await kustomize(join(dir, 'install'), options);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function assemble(dir: string): Promise<void> {
  const flux = await goModuleDir(FLUX_MODULES.flux);
  for (const folder of ['install', 'policies', 'rbac']) await copy(join(flux, 'manifests', folder), join(dir, folder));
  await writeKustomization(join(dir, 'install'), INSTALL);
  for (const name of FLUX_CONTROLLERS) {
    const base = join(dir, 'bases', name);
    await copy(join(flux, 'manifests/bases', name), base);
    const controller = await goModuleDir(FLUX_MODULES[name]);
    await copy(join(controller, 'config/manager'), join(base, 'manager'));
    const crds = name === 'source-controller' ? await goModuleDir(FLUX_MODULES['source-crds']) : controller;
    await copy(join(crds, 'config/crd'), join(base, 'crd'));
    // Upstream's says the same, with the addresses of releases in place of these folders.
    await writeKustomization(base, {
      resources: ['crd', 'manager', 'account.yaml'],
      transformers: ['labels.yaml'],
      patches: [{ target: { group: 'apps', version: 'v1', kind: 'Deployment', name }, path: 'patch.yaml' }],
    });
  }
}

async function writeKustomization(dir: string, content: object): Promise<void> {
  const head = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' };
  await rm(join(dir, 'kustomization.yaml'), { force: true });
  await writeFile(join(dir, 'kustomization.yaml'), JSON.stringify({ ...head, ...content }));
}

/** Go's module cache is read-only, and a copy of its folders would be too. */
async function copy(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copy(source, target);
    else await cp(source, target);
  }
}

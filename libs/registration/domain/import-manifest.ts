import { installerDocuments } from './import-manifest-installer.js';
import { rightsDocuments } from './import-manifest-rights.js';
import {
  SECRETS,
  metadata,
  type ImportManifestInput,
  type InstallerManifestInput,
  type KubernetesDocument,
} from './import-manifest-names.js';
import { caDocuments, namespaceOf } from './import-manifest-values.js';
import { workloadDocuments } from './import-manifest-workload.js';
import { manifestYaml } from './manifest-yaml.js';

export type { ImportManifestInput, InstallerManifestInput } from './import-manifest-names.js';

/**
 * The YAML that `kubectl apply` takes to make a cluster join: namespace, least rights, Secrets, Deployment, network
 * policy. Deterministic: the same input gives the same text. Applying it again keeps the identity that the agent has
 * stored, because the identity Secret is listed without data.
 */
export function renderImportManifest(input: ImportManifestInput): string {
  return render(headerLines(input), [
    ...rightsDocuments(input.values),
    ...secretDocuments(input),
    ...caDocuments(input.values),
    // Before the agent: what it is to find should be there when it looks first.
    ...installerOf(input),
    ...workloadDocuments(input),
  ]);
}

/** The YAML that adds an installer beside the agent of a cluster that was imported without one. It holds no secret. */
export function renderInstallerManifest(input: InstallerManifestInput & { readonly name: string }): string {
  const header = [
    `# Fairlead: adds an installer to the cluster "${input.name}" (${input.clusterId}), which has an agent already.`,
    '# It holds no secret, and may be kept in Git. The installer has the rights of an administrator: docs/security.md.',
  ];
  return render(header, installerDocuments(input));
}

function render(header: readonly string[], documents: readonly KubernetesDocument[]): string {
  return `${header.join('\n')}\n---\n${documents.map(manifestYaml).join('---\n')}`;
}

/** Without a cluster of its own nobody could sign anything for it. */
function installerOf({ cluster, installer, pins, trustDomain, values }: ImportManifestInput): KubernetesDocument[] {
  if (cluster === null || installer === null) return [];
  return installerDocuments({ clusterId: cluster.id, pins, trustDomain, image: installer.image, values });
}

function headerLines({ cluster, bootstrapToken }: ImportManifestInput): string[] {
  if (cluster === null) {
    return [
      '# Fairlead: asks for this cluster to be adopted. It holds no secret, and may be kept in Git.',
      '# The agent waits until an administrator approves the key that its log shows: fairlead request list',
    ];
  }
  const what = `# Fairlead: joins this cluster as "${cluster.name}" (${cluster.id}).`;
  if (bootstrapToken === null) return [what, '# It needs a Secret with an identity beside it.'];
  return [what, '# It holds a bootstrap token that works once and soon expires: apply it, do not keep it in Git.'];
}

function secretDocuments(input: ImportManifestInput): KubernetesDocument[] {
  const namespace = namespaceOf(input.values);
  return [
    ...(input.bootstrapToken === null ? [] : [bootstrapSecret(input.bootstrapToken, namespace)]),
    // Without `data`: the agent writes it, and neither kind of apply touches a field that it does not list.
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata(SECRETS.identity, namespace), type: 'Opaque' },
  ];
}

function bootstrapSecret(token: string, namespace: string): KubernetesDocument {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadata(SECRETS.bootstrap, namespace),
    type: 'Opaque',
    // `data`, not `stringData`: the latter is write-only, so a later server-side apply could not see that it changed.
    data: { token: Buffer.from(token).toString('base64') },
  };
}

import { stringify } from 'yaml';
import { rightsDocuments } from './import-manifest-rights.js';
import {
  AGENT,
  SECRETS,
  metadata,
  type ImportManifestInput,
  type KubernetesDocument,
} from './import-manifest-names.js';
import { workloadDocuments } from './import-manifest-workload.js';

export type { ImportManifestInput } from './import-manifest-names.js';

/**
 * The YAML that `kubectl apply` takes to make a cluster join: namespace, least rights, Secrets, Deployment, network
 * policy. Deterministic: the same input gives the same text. Applying it again keeps the identity that the agent has
 * stored, because the identity Secret is listed without data.
 */
export function renderImportManifest(input: ImportManifestInput): string {
  const documents = [...rightsDocuments(), ...secretDocuments(input), ...workloadDocuments(input)];
  const header = headerLines(input).join('\n');
  const body = documents.map((document) => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }));
  return `${header}\n---\n${body.join('---\n')}`;
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
  return [
    ...(input.bootstrapToken === null ? [] : [bootstrapSecret(input.bootstrapToken)]),
    // Without `data`: the agent writes it, and neither kind of apply touches a field that it does not list.
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata(SECRETS.identity, AGENT.namespace), type: 'Opaque' },
  ];
}

function bootstrapSecret(token: string): KubernetesDocument {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadata(SECRETS.bootstrap, AGENT.namespace),
    type: 'Opaque',
    // `data`, not `stringData`: the latter is write-only, so a later server-side apply could not see that it changed.
    data: { token: Buffer.from(token).toString('base64') },
  };
}

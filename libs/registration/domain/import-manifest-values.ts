import { createHash } from 'node:crypto';
import { AGENT_RESOURCES, type ManifestValues } from '@fairlead/contracts';
import { AGENT, metadata, type KubernetesDocument } from './import-manifest-names.js';

const CA = { name: 'fairlead-agent-ca', file: 'ca.crt', dir: '/etc/fairlead-ca' } as const;
const PROXY = {
  volume: 'proxy-credentials',
  dir: '/var/run/secrets/fairlead-proxy',
  items: ['username', 'password'].map((key) => ({ key, path: key })),
} as const;

type Fields = Readonly<Record<string, unknown>>;

/** Where the objects of a cluster are. */
export function namespaceOf(values: ManifestValues): string {
  return values.namespace ?? AGENT.defaultNamespace;
}

/** Of every pod of ours: how it is pulled, placed and ranked. */
export function placement({ imagePullSecrets, nodeSelector, tolerations, priorityClassName }: ManifestValues): Fields {
  return given({ imagePullSecrets, nodeSelector, tolerations, priorityClassName });
}

/** Metadata of a pod: what the values say, under what the manifest says itself. */
export function podMetadata(
  { podLabels, podAnnotations }: ManifestValues,
  own: { readonly labels: Readonly<Record<string, string>>; readonly annotations?: Readonly<Record<string, string>> },
): Fields {
  const annotations = { ...podAnnotations, ...own.annotations };
  return {
    labels: { ...podLabels, ...own.labels },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

/** Of the agent's pod alone. Names are resolved by the cluster's DNS also in the network of a node. */
export function agentNetwork({ hostNetwork }: ManifestValues): Fields {
  return hostNetwork === true ? { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' } : {};
}

/** Where the agent answers probes, and how it is asked: in the network of a node nobody else is to ask it. */
export function healthOf({ hostNetwork, healthPort }: ManifestValues): {
  readonly listen: string;
  readonly port: number;
  readonly probe: Fields;
} {
  const port = healthPort ?? AGENT.healthPort;
  if (hostNetwork === true) return { listen: `127.0.0.1:${port}`, port, probe: { host: '127.0.0.1' } };
  // Of whichever family the pod has an address, and is asked at it.
  return { listen: `[::]:${port}`, port, probe: {} };
}

export function agentResources({ resources }: ManifestValues): Fields {
  return {
    requests: { ...AGENT_RESOURCES.requests, ...resources?.requests },
    limits: { ...AGENT_RESOURCES.limits, ...resources?.limits },
  };
}

/** What the agent is told by its environment, besides what it is told without values. */
export function agentEnvironment({ proxy, caBundle }: ManifestValues): Record<string, string> {
  return {
    ...(proxy === undefined ? {} : { HTTPS_PROXY: proxy.httpsProxy }),
    ...(proxy?.noProxy === undefined ? {} : { NO_PROXY: proxy.noProxy.join(',') }),
    ...(proxy?.credentialsSecret === undefined ? {} : { FAIRLEAD_PROXY_CREDENTIALS_DIR: PROXY.dir }),
    // Node's own: gateways and the API server are judged by roots that the agent names itself, which this adds nothing to.
    ...(caBundle === undefined ? {} : { NODE_EXTRA_CA_CERTS: `${CA.dir}/${CA.file}` }),
  };
}

export function agentVolumes({ proxy, caBundle }: ManifestValues): Fields[] {
  const secretName = proxy?.credentialsSecret;
  return [
    ...(secretName === undefined
      ? []
      : [{ name: PROXY.volume, secret: { secretName, items: PROXY.items, defaultMode: 0o440 } }]),
    ...(caBundle === undefined ? [] : [{ name: CA.name, configMap: { name: CA.name } }]),
  ];
}

export function agentMounts({ proxy, caBundle }: ManifestValues): Fields[] {
  return [
    ...(proxy?.credentialsSecret === undefined ? [] : [{ name: PROXY.volume, mountPath: PROXY.dir, readOnly: true }]),
    ...(caBundle === undefined ? [] : [{ name: CA.name, mountPath: CA.dir, readOnly: true }]),
  ];
}

/** It is read when the agent starts: other certificates make new pods. */
export function agentAnnotations({ caBundle }: ManifestValues): Record<string, string> {
  if (caBundle === undefined) return {};
  const digest = createHash('sha256').update(caBundle).digest('hex');
  return { 'fairlead.dev/ca-bundle-sha256': digest.slice(0, 16) };
}

/** The certificates for the volume. */
export function caDocuments(values: ManifestValues): KubernetesDocument[] {
  if (values.caBundle === undefined) return [];
  const data = { [CA.file]: values.caBundle };
  return [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(CA.name, namespaceOf(values)), data }];
}

/** How the namespace's pods are judged. Where a pod is in its node's network, nothing stricter lets it in. */
export function podSecurityLevel({ hostNetwork }: ManifestValues): 'restricted' | 'privileged' {
  return hostNetwork === true ? 'privileged' : 'restricted';
}

/** Without what was not said. */
function given(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

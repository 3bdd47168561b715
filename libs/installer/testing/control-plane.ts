import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { HANDOVER, signDesiredState, type DesiredState, type GitOpsSpec, type Handover } from '@fairlead/desired-state';
import type { Objects } from '@fairlead/kube/rest';
import type { TestAuthority } from '@fairlead/testing';

export const NAMESPACE = 'fairlead-system';
export const CLUSTER_ID = '6d7f8d3e-8a53-4b6e-9d0a-1f2e3d4c5b6a';

export interface Bundle {
  readonly compressed: Uint8Array;
  readonly reference: GitOpsSpec['bundle'];
}

export function bundleOf(yaml: string, version = 'v1'): Bundle {
  const compressed = gzipSync(yaml);
  const digest = createHash('sha256').update(yaml).digest('hex');
  const bytes = Buffer.byteLength(yaml);
  return { compressed, reference: { digest, version, bytes, compressedBytes: compressed.length } };
}

export const HOST_KEY = {
  host: 'git.example.com',
  type: 'ssh-ed25519',
  key: 'AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl',
} as const;

export function gitopsSpecOf(bundle: Bundle, more: Partial<GitOpsSpec> = {}): GitOpsSpec {
  return {
    tool: 'flux',
    bundle: bundle.reference,
    images: { rewrite: [], pullSecret: null },
    source: {
      url: 'ssh://git@git.example.com/fleet/demo.git',
      branch: 'main',
      path: 'clusters/demo',
      knownHosts: [HOST_KEY],
      intervalSeconds: 60,
      prune: true,
      verification: null,
    },
    deployKey: { current: 1, next: null, currentReady: true, nextReady: false },
    suspend: false,
    selfHeal: 'enforce',
    lockdown: true,
    holdRepairs: false,
    ...more,
  };
}

export function stateOf(revision: number, gitops: GitOpsSpec | null, more: Partial<DesiredState> = {}): DesiredState {
  const issuedAt = '2026-11-22T12:00:00.000Z';
  return {
    version: 1,
    tenantId: 'default',
    clusterId: CLUSTER_ID,
    revision,
    issuedAt,
    gitops,
    remove: 'keep',
    ...more,
  };
}

/** As the agent hands it over. `signer`: another identity of the authority than `keys`. */
export async function handoverOf(authority: TestAuthority, state: DesiredState, signer = 'keys'): Promise<Handover> {
  const { privateKeyPem: keyPem, chain } = await authority.service(signer);
  const signed = await signDesiredState(state, { keyPem, chainPem: chain.slice(0, -1) });
  return {
    trust: null,
    roots: [...authority.roots],
    desiredState: {
      document: Buffer.from(signed.document).toString('base64'),
      signerChain: [...signed.signerChainPem],
      signature: Buffer.from(signed.signature).toString('base64'),
    },
  };
}

/** Writes what the agent would. */
export async function handOver(objects: Objects, handover: Handover): Promise<void> {
  await writeConfigMap(objects, HANDOVER.desiredState, {
    data: { [HANDOVER.keys.handover]: JSON.stringify(handover) },
  });
}

export async function bring(objects: Objects, { compressed }: Bundle): Promise<void> {
  const bytes = Buffer.from(compressed).toString('base64');
  await writeConfigMap(objects, HANDOVER.bundle, { binaryData: { [HANDOVER.keys.bundle]: bytes } });
}

async function writeConfigMap(objects: Objects, name: string, content: Record<string, unknown>): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NAMESPACE }, ...content };
  await objects.apply(object, { fieldManager: 'fairlead-agent', force: true });
}

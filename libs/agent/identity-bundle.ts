import { X509Certificate, createPrivateKey } from 'node:crypto';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { highestVersion, readPeerCertificate } from '@fairlead/pki';
import { z } from 'zod';
import { AgentIdentity, saveInTurn, type IdentityStore } from './agent-identity.js';
import { isOwn } from './own-cluster.js';

/** What `fairlead identity issue` writes: an identity that an administrator takes to an agent by hand. */
export const IdentityBundle = z.object({
  kind: z.literal('fairlead-identity-bundle'),
  version: z.literal(1),
  /** Name of the cluster, for people. */
  cluster: z.string().max(63),
  identity: AgentIdentity,
});

export interface BundleOptions {
  /** Its text; null if there is none. Rejects if it may not be read. */
  readonly read: () => Promise<string | null>;
  readonly logger: Logger;
  /** Which cluster the agent is, from its manifest: no other one's bundle is taken up. Absent: any. */
  readonly clusterId?: string | undefined;
  /** Only looks: what is found is not kept. */
  readonly readOnly?: boolean;
}

/**
 * A store into which an identity from a bundle comes first, if it is newer than what is stored; from then on it is kept and
 * renewed as any other. `load` throws INVALID_ARGUMENT for a bundle that cannot be used, unless there is a stored identity.
 */
export function withBundle(store: IdentityStore, options: BundleOptions): IdentityStore {
  const { logger, clusterId, readOnly = false } = options;
  return {
    ...store,
    load: () =>
      saveInTurn(store, async (stored) => {
        const bundled = await readBundle(options).catch((error: unknown) => {
          if (!stored.identity) throw error;
          logger.error('agent.bundle.refused', { reason: messageOf(error) });
          return null;
        });
        if (!bundled || !supersedes(bundled, stored.identity, clusterId)) return stored;
        if (readOnly) return { ...stored, identity: bundled };
        await store.saveIdentity(bundled, stored.version);
        logger.info('agent.bundle.taken_up', { clusterId: bundled.clusterId, generation: bundled.generation });
        return store.load();
      }),
  };
}

async function readBundle({ read, clusterId }: BundleOptions): Promise<AgentIdentity | null> {
  const text = await read();
  if (text === null) return null;
  const identity = parseBundle(text);
  if (isOwn(identity, clusterId)) return identity;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `the identity bundle is of the cluster ${identity.clusterId}, and the manifest (FAIRLEAD_CLUSTER_ID) is of ${clusterId}: issue one of that cluster, or apply the manifest that belongs to the bundle`,
  );
}

function parseBundle(text: string): AgentIdentity {
  try {
    const { identity } = IdentityBundle.parse(JSON.parse(text));
    const leaf = new X509Certificate(identity.chainPem[0] ?? '');
    const { id, generation } = readPeerCertificate(leaf.raw);
    const own = leaf.checkPrivateKey(createPrivateKey(identity.keyPem));
    const isWhole = own && id.kind === 'agent' && id.clusterId === identity.clusterId;
    // What newer versions are counted from is this agent's own to know.
    if (isWhole && generation === identity.generation && identity.trustVersion <= highestVersion(new Date())) {
      return { ...identity, trustSince: undefined };
    }
  } catch {
    // What a parser says about a text with a private key in it is not for a log.
  }
  throw new FairleadError(
    'INVALID_ARGUMENT',
    'the identity bundle cannot be used: it is not one, or its key, certificate and cluster do not belong together; issue a new one',
  );
}

/** Of the same cluster the higher enrolment counts; of another one the manifest's, or else whichever was certified later. */
function supersedes(bundled: AgentIdentity, stored: AgentIdentity | null, own: string | undefined): boolean {
  if (!stored || !isOwn(stored, own)) return true;
  if (bundled.clusterId === stored.clusterId) return bundled.generation > stored.generation;
  return certifiedAtMs(bundled) > certifiedAtMs(stored);
}

function certifiedAtMs({ chainPem: [leaf = ''] }: AgentIdentity): number {
  return Date.parse(new X509Certificate(leaf).validFrom);
}

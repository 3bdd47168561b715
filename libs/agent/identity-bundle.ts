import { X509Certificate, createPrivateKey } from 'node:crypto';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { readPeerCertificate } from '@fairlead/pki';
import { z } from 'zod';
import { AgentIdentity, type IdentityStore } from './agent-identity.js';

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
  /** Only looks: what is found is not kept. */
  readonly readOnly?: boolean;
}

/**
 * A store into which an identity from a bundle comes first, if it is newer than what is stored; from then on it is kept and
 * renewed as any other. `load` throws INVALID_ARGUMENT for a bundle that cannot be used, unless there is a stored identity.
 */
export function withBundle(store: IdentityStore, options: BundleOptions): IdentityStore {
  const { logger, readOnly = false } = options;
  return {
    ...store,
    load: async () => {
      const stored = await store.load();
      const bundled = await readBundle(options).catch((error: unknown) => {
        if (!stored.identity) throw error;
        logger.error('agent.bundle.refused', { reason: messageOf(error) });
        return null;
      });
      if (!bundled || !supersedes(bundled, stored.identity)) return stored;
      if (!readOnly) {
        await store.saveIdentity(bundled);
        logger.info('agent.bundle.taken_up', { clusterId: bundled.clusterId, generation: bundled.generation });
      }
      return { ...stored, identity: bundled };
    },
  };
}

async function readBundle({ read }: BundleOptions): Promise<AgentIdentity | null> {
  const text = await read();
  if (text === null) return null;
  try {
    const { identity } = IdentityBundle.parse(JSON.parse(text));
    const leaf = new X509Certificate(identity.chainPem[0] ?? '');
    const { id, generation } = readPeerCertificate(leaf.raw);
    const own = leaf.checkPrivateKey(createPrivateKey(identity.keyPem));
    if (own && id.kind === 'agent' && id.clusterId === identity.clusterId && generation === identity.generation) {
      return identity;
    }
  } catch {
    // What a parser says about a text with a private key in it is not for a log.
  }
  throw new FairleadError(
    'INVALID_ARGUMENT',
    'the identity bundle cannot be used: it is not one, or its key, certificate and cluster do not belong together; issue a new one',
  );
}

/** Of the same cluster the higher enrolment counts; of another one, whichever was certified later. */
function supersedes(bundled: AgentIdentity, stored: AgentIdentity | null): boolean {
  if (!stored) return true;
  if (bundled.clusterId === stored.clusterId) return bundled.generation > stored.generation;
  return certifiedAtMs(bundled) > certifiedAtMs(stored);
}

function certifiedAtMs({ chainPem: [leaf = ''] }: AgentIdentity): number {
  return Date.parse(new X509Certificate(leaf).validFrom);
}

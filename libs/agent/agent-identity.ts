import { z } from 'zod';
import { FairleadError } from '@fairlead/errors';
import { storedEndpoints } from './known-endpoints.js';

/** What makes an agent this cluster's agent. Kept in a Secret in a cluster, in a 0600 file elsewhere. */
export const AgentIdentity = z.object({
  clusterId: z.uuid(),
  /** Of the bootstrap token that was spent for it: tells a newer import manifest from the one it came with. */
  tokenId: z.string().optional(),
  generation: z.int().min(0),
  trustDomain: z.string(),
  keyPem: z.string(),
  chainPem: z.array(z.string()).min(1),
  rootsPem: z.array(z.string()).min(1),
  /** Version of the signed bundle that the roots are of; 0: they were pinned, or came without one. */
  trustVersion: z.int().min(0).default(0),
  /** The first version that this identity had, and when it was: newer ones are counted from it (`trust-pace.ts`). Absent: from now on. */
  trustSince: z
    .object({ version: z.int().min(1), atMs: z.int() })
    .optional()
    .catch(undefined),
  /** That bundle as it was signed, base64, for the installer beside the agent; absent: not known. */
  signedTrust: z
    .object({ document: z.string(), signerChain: z.array(z.string()), signature: z.string() })
    .optional()
    .catch(undefined),
  /** Serial numbers of gateways' certificates that are refused, by the same bundle. */
  revokedGateways: z.array(z.string()).optional(),
  /** Gateways whose certificates are refused that are valid from this second on or from an earlier one, by the same bundle. */
  fencedGateways: z.array(z.object({ name: z.string(), through: z.int() })).optional(),
  ...storedEndpoints,
});
export type AgentIdentity = z.infer<typeof AgentIdentity>;

/**
 * A key waiting for its certificate: kept before the token is sent, so that an agent that dies in between can ask again
 * with the same key, which is the only one the token is then good for.
 */
export const PendingKey = z.object({ tokenId: z.string(), keyPem: z.string() });
export type PendingKey = z.infer<typeof PendingKey>;

export interface IdentityStore {
  load(): Promise<{ identity: AgentIdentity | null; pending: PendingKey | null }>;
  saveIdentity(identity: AgentIdentity): Promise<void>;
  savePending(pending: PendingKey): Promise<void>;
}

/** Where values are kept, whatever it is. */
export interface TextStore {
  read(): Promise<Readonly<Record<string, string>>>;
  write(values: Readonly<Record<string, string>>): Promise<void>;
}

/** INTERNAL if what is stored is not readable: it is never taken for "not enrolled", which would spend a token. */
export function identityStore(store: TextStore): IdentityStore {
  return {
    load: async () => {
      const values = await store.read();
      return { identity: parse(AgentIdentity, values['identity']), pending: parse(PendingKey, values['pending']) };
    },
    saveIdentity: (identity) => store.write({ identity: JSON.stringify(identity), pending: '' }),
    savePending: (pending) => store.write({ pending: JSON.stringify(pending) }),
  };
}

function parse<T>(schema: z.ZodType<T>, text: string | undefined): T | null {
  if (text === undefined || text === '') return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new FairleadError('INTERNAL', 'the stored identity cannot be read; restore it, or delete it and enrol anew', {
      cause: error,
    });
  }
}

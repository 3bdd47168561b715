import { StatementRevocations } from '@fairlead/access-statement/statement-revocations';
import { z } from 'zod';
import { FairleadError, toFairleadError } from '@fairlead/errors';
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
  /** How often what is stored of this enrolment was changed: of two, the one with more is the newer. Absent: never. */
  changes: z.int().min(0).optional(),
  /** Gateways whose certificates are refused that are valid from this second on or from an earlier one, by the same bundle. */
  fencedGateways: z.array(z.object({ name: z.string(), through: z.int() })).optional(),
  /** Which access statements are worth nothing before their end, of the cluster's tenant. Absent: nobody was told, or whose the cluster is. */
  revocations: StatementRevocations.optional().catch(undefined),
  ...storedEndpoints,
});
export type AgentIdentity = z.infer<typeof AgentIdentity>;

/**
 * A key waiting for its certificate: kept before the token is sent, so that an agent that dies in between can ask again
 * with the same key, which is the only one the token is then good for.
 */
export const PendingKey = z.object({ tokenId: z.string(), keyPem: z.string() });
export type PendingKey = z.infer<typeof PendingKey>;

interface StoredIdentity {
  readonly identity: AgentIdentity | null;
  readonly pending: PendingKey | null;
  /** Of what was read; absent where nobody else writes. */
  readonly version?: string | undefined;
}

/**
 * The pods of a cluster's agent share one. Whoever saves says what version it read before: CONFLICT if another one has saved since, and
 * what is there now is to be read first.
 */
export interface IdentityStore {
  load(): Promise<StoredIdentity>;
  saveIdentity(identity: AgentIdentity, version: string | undefined): Promise<void>;
  savePending(pending: PendingKey, version: string | undefined): Promise<void>;
}

/** Where values are kept, whatever it is. */
export interface TextStore {
  read(): Promise<{ readonly values: Readonly<Record<string, string>>; readonly version?: string | undefined }>;
  /** CONFLICT if they are no longer of this version. */
  write(values: Readonly<Record<string, string>>, version?: string): Promise<void>;
}

/** INTERNAL if what is stored is not readable: it is never taken for "not enrolled", which would spend a token. */
export function identityStore(store: TextStore): IdentityStore {
  return {
    load: async () => {
      const { values, version } = await store.read();
      const [identity, pending] = [parse(AgentIdentity, values['identity']), parse(PendingKey, values['pending'])];
      return { identity, pending, version };
    },
    saveIdentity: (identity, version) => store.write({ identity: JSON.stringify(identity), pending: '' }, version),
    savePending: (pending, version) => store.write({ pending: JSON.stringify(pending) }, version),
  };
}

/** Of saves that meet another one's, so many follow each other: each pod of an agent saves once. */
const MAX_CONFLICTS = 8;

/** Reads and saves, again from the start where somebody else has saved in between. CONFLICT if that never ends; otherwise what `save` throws. */
export async function saveInTurn<T>(store: IdentityStore, save: (stored: StoredIdentity) => Promise<T>): Promise<T> {
  for (let conflicts = 0; ; conflicts += 1) {
    const stored = await store.load();
    try {
      return await save(stored);
    } catch (error) {
      if (toFairleadError(error).code !== 'CONFLICT' || conflicts >= MAX_CONFLICTS) throw error;
    }
  }
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

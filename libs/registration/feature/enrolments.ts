import { NO_TENANT, type Caller, type Facts, type Issued } from '@fairlead/contracts';
import { FairleadError, assertNever, toFairleadError } from '@fairlead/errors';
import type { EventInput } from '@fairlead/events';
import { checkCsr } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { decideEnrolment } from '../domain/decide-enrolment.js';
import { hashSecret, sameHash } from '../domain/secret-hash.js';
import { lockCluster, markEnrolled, type StoredCluster } from '../store/cluster-store.js';
import {
  bindBootstrapToken,
  findBootstrapToken,
  lockBootstrapToken,
  type StoredBootstrapToken,
} from '../store/token-store.js';
import { commit, read, refuse, tell, type Runtime } from './runtime.js';

export interface EnrolInput {
  readonly tokenId: string;
  /** Base64. */
  readonly secret: string;
  /** PKCS#10, base64. */
  readonly csr: string;
  readonly facts: Facts;
  readonly remoteAddress: string;
}

export interface Enrolled {
  readonly tenantId: string;
  readonly clusterId: string;
  readonly generation: number;
  readonly chain: string[];
  readonly roots: string[];
}

/** Asks the keys service for the certificate of an enrolment that was decided. */
export type SignAgent = (
  tenantId: string,
  request: { clusterId: string; generation: number; csr: string },
) => Promise<Issued>;

interface Decided {
  readonly cluster: StoredCluster;
  readonly generation: number;
}

/** So that an unknown id takes as long to refuse as a wrong secret. */
const NOBODYS_HASH = hashSecret('');

/** Bootstrap tokens for certificates. */
export class Enrolments {
  readonly #runtime: Runtime;
  readonly #signAgent: SignAgent;

  constructor(runtime: Runtime, signAgent: SignAgent) {
    this.#runtime = runtime;
    this.#signAgent = signAgent;
  }

  /**
   * Spends the token on the request's key, then fetches the certificate: when that fails, the same key may ask again.
   * TOKEN_UNKNOWN (also for a wrong secret), TOKEN_EXPIRED, TOKEN_REVOKED, TOKEN_USED, CSR_INVALID.
   */
  async enrol(caller: Caller, input: EnrolInput): Promise<Enrolled> {
    const token = await read(this.#runtime, (manager) => findBootstrapToken(manager, input.tokenId));
    const { cluster, generation } = await this.#decide(input, token).catch((error: unknown) => {
      const known = toFairleadError(error);
      return refuse(this.#runtime, known, 'dev.fairlead.enrolment.refused.v1', refusal(caller, input, token, known));
    });
    const { id: clusterId, tenantId } = cluster;
    const { chain, roots } = await this.#signAgent(tenantId, { clusterId, generation, csr: input.csr });
    return { tenantId, clusterId, generation, chain, roots };
  }

  async #decide(input: EnrolInput, found: StoredBootstrapToken | null): Promise<Decided> {
    const { spkiSha256 } = await checkCsr(Buffer.from(input.csr, 'base64'));
    // Before anything else is told: only who has the secret learns in which state the token is.
    const matches = sameHash(hashSecret(Buffer.from(input.secret, 'base64')), found?.secretHash ?? NOBODYS_HASH);
    if (!found || !matches) throw unknownToken();
    return commit(this.#runtime, async (manager) => {
      const cluster = await lockCluster(manager, found.clusterId);
      const token = await lockBootstrapToken(manager, found.id);
      if (!cluster || !token) throw unknownToken();
      return this.#decideLocked(manager, input, spkiSha256, cluster, token);
    });
  }

  async #decideLocked(
    manager: EntityManager,
    input: EnrolInput,
    spkiSha256: string,
    cluster: StoredCluster,
    token: StoredBootstrapToken,
  ): Promise<Decided> {
    const { boundSpkiSha256, boundGeneration, expiresAt, revokedAt } = token;
    const bound =
      boundSpkiSha256 !== null && boundGeneration !== null
        ? { spkiSha256: boundSpkiSha256, generation: boundGeneration }
        : null;
    const decision = decideEnrolment({ expiresAt, revokedAt, bound }, cluster, spkiSha256, this.#runtime.now());
    switch (decision.kind) {
      case 'refuse':
        throw new FairleadError(decision.code, decision.reason);
      case 'bind':
        await this.#bind(manager, input, spkiSha256, cluster, decision.generation);
        return { cluster, generation: decision.generation };
      case 'repeat':
        return { cluster, generation: decision.generation };
      default:
        return assertNever(decision);
    }
  }

  async #bind(
    manager: EntityManager,
    { tokenId, facts, remoteAddress }: EnrolInput,
    spkiSha256: string,
    { id: clusterId, name, tenantId }: StoredCluster,
    generation: number,
  ): Promise<void> {
    await bindBootstrapToken(manager, tokenId, spkiSha256, generation);
    await markEnrolled(manager, clusterId, { generation, facts, enrolledAt: this.#runtime.now() });
    await tell(this.#runtime, manager, 'dev.fairlead.enrolment.succeeded.v1', {
      tenantId,
      clusterId,
      name,
      tokenId,
      generation,
      spkiSha256,
      agentVersion: facts.agentVersion,
      kubernetesVersion: facts.kubernetesVersion,
      subject: `cluster/${clusterId}`,
      actor: { kind: 'agent', id: clusterId, address: remoteAddress },
      reason: 'OK',
    });
  }
}

function unknownToken(): FairleadError {
  return new FairleadError('TOKEN_UNKNOWN', 'the bootstrap token is not known; fetch a new import manifest');
}

function refusal(
  caller: Caller,
  { tokenId, remoteAddress }: EnrolInput,
  token: StoredBootstrapToken | null,
  error: FairleadError,
): EventInput<'dev.fairlead.enrolment.refused.v1'> {
  return {
    tenantId: token?.tenantId ?? NO_TENANT,
    clusterId: token?.clusterId ?? null,
    tokenId,
    subject: `token/${tokenId}`,
    // Nobody has proven to be anybody yet; the gateway that carried it is all that is known.
    actor: { kind: 'unknown', id: caller.credential, address: remoteAddress },
    reason: error.code,
  };
}

import { DesiredState, MAX_DESIRED_STATE_BYTES, signDesiredState } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { inTransaction } from '@fairlead/persistence';
import type { DataSource, EntityManager } from 'typeorm';
import { statementLifeMs } from '../../domain/statement-life.js';
import { digestOf, sourceDigest, vouchFor, type ApprovedAddress } from '../../domain/vouch-for.js';
import { gitHostsOf, hostKeysOf } from '../../store/git-host-store.js';
import { lockLastSigned, saveLastSigned } from '../../store/signed-state-store.js';
import type { BelongsTo } from '../cluster-watch.js';
import type { CurrentCa } from '../current-ca.js';

export interface SignedAnswer {
  readonly document: string;
  readonly signerChain: string[];
  readonly signature: string;
  readonly notAfter: string;
}

/**
 * Signs what clusters' installers act on. What they are to do is for whoever asks to decide; that it is for a cluster of the tenant, follows
 * only a Git host of the tenant that has the host keys which were approved, and takes nothing back, is decided here.
 */
export class DesiredStateSigner {
  readonly #database: DataSource;
  readonly #ca: CurrentCa;
  readonly #belongs: BelongsTo;
  readonly #lifeMs: number;

  /** `leafLifeSeconds`: of what else is signed. */
  constructor({
    database,
    ca,
    belongs,
    leafLifeSeconds,
  }: {
    readonly database: DataSource;
    readonly ca: CurrentCa;
    readonly belongs: BelongsTo;
    readonly leafLifeSeconds: number;
  }) {
    this.#database = database;
    this.#ca = ca;
    this.#belongs = belongs;
    this.#lifeMs = statementLifeMs(leafLifeSeconds);
  }

  /**
   * INVALID_ARGUMENT for what is no desired state; FORBIDDEN for one of another tenant, of a cluster that is not this tenant's, or with a
   * source that was not approved; CONFLICT for an older revision than was signed; UNAVAILABLE when the issuing CA has ended, or it is not
   * known at present whose the cluster is.
   */
  async sign(tenantId: string, documentBase64: string): Promise<SignedAnswer> {
    const state = read(documentBase64);
    if (state.tenantId !== tenantId) {
      throw new FairleadError('FORBIDDEN', 'the desired state is of another tenant than the one it was asked for');
    }
    if (!this.#belongs(tenantId, state.clusterId)) {
      throw new FairleadError('FORBIDDEN', 'the desired state is of a cluster that this tenant does not have');
    }
    await this.#ca.upkeep();
    const { notAfter, ...signer } = await inTransaction(this.#database, async (manager) => {
      const last = await lockLastSigned(manager, state.clusterId);
      vouchFor(state, last, await approvedAddresses(manager, tenantId));
      const { revision } = state;
      await saveLastSigned(manager, state.clusterId, {
        revision,
        document: digestOf(state),
        source: sourceDigest(state),
      });
      const { authority } = await this.#ca.shared(manager);
      return authority.oneTimeSigner(this.#ca.now(), { lifeMs: this.#lifeMs });
    });
    const signed = await signDesiredState(state, signer);
    return {
      document: Buffer.from(signed.document).toString('base64'),
      signerChain: [...signed.signerChainPem],
      signature: Buffer.from(signed.signature).toString('base64'),
      notAfter: notAfter.toISOString(),
    };
  }
}

async function approvedAddresses(manager: EntityManager, tenantId: string): Promise<ApprovedAddress[]> {
  const hosts = await gitHostsOf(manager, tenantId);
  const keys = await hostKeysOf(
    manager,
    hosts.map(({ id }) => id),
  );
  return hosts.map(({ id, sshHost: host, sshPort: port }) => {
    const approved = (keys.get(id) ?? []).filter(({ state }) => state === 'approved');
    return { host, port, approvedKeys: approved.map(({ publicKey }) => publicKey) };
  });
}

function read(documentBase64: string): DesiredState {
  const bytes = Buffer.from(documentBase64, 'base64');
  if (bytes.length > MAX_DESIRED_STATE_BYTES) throw invalid(`it is larger than ${MAX_DESIRED_STATE_BYTES} bytes`);
  const state = DesiredState.safeParse(readJson(bytes));
  if (state.success) return state.data;
  const [issue] = state.error.issues;
  throw invalid(issue ? `${issue.path.join('.')}: ${issue.message}` : 'it cannot be read', state.error);
}

function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw invalid('it is not JSON', cause);
  }
}

function invalid(why: string, cause?: unknown): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the desired state is refused: ${why}`, { cause });
}

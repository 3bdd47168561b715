import { DesiredState, MAX_DESIRED_STATE_BYTES, signDesiredState } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { inTransaction } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { statementLifeMs } from '../../domain/statement-life.js';
import type { CurrentCa } from '../current-ca.js';

export interface SignedAnswer {
  readonly document: string;
  readonly signerChain: string[];
  readonly signature: string;
  readonly notAfter: string;
}

/** Signs what clusters' installers act on. It decides nothing about it but whose it is. */
export class DesiredStateSigner {
  readonly #database: DataSource;
  readonly #ca: CurrentCa;
  readonly #lifeMs: number;

  /** `leafLifeSeconds`: of what else is signed. */
  constructor(database: DataSource, ca: CurrentCa, leafLifeSeconds: number) {
    this.#database = database;
    this.#ca = ca;
    this.#lifeMs = statementLifeMs(leafLifeSeconds);
  }

  /** INVALID_ARGUMENT for what is no desired state; FORBIDDEN for one of another tenant; UNAVAILABLE when the issuing CA has ended. */
  async sign(tenantId: string, documentBase64: string): Promise<SignedAnswer> {
    const state = read(documentBase64);
    if (state.tenantId !== tenantId) {
      throw new FairleadError('FORBIDDEN', 'the desired state is of another tenant than the one it was asked for');
    }
    await this.#ca.upkeep();
    const { notAfter, ...signer } = await inTransaction(this.#database, async (manager) => {
      const { authority } = await this.#ca.shared(manager);
      return authority.oneTimeSigner(this.#ca.now(), this.#lifeMs);
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

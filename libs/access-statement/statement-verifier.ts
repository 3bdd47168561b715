import { createHash, type KeyObject } from 'node:crypto';
import { compileRules, type CompiledRules } from '@fairlead/access-rules';
import { FairleadError } from '@fairlead/errors';
import { BoundedMap } from '@fairlead/limits';
import { isSignedBy, openSigner } from '@fairlead/pki';
import { AccessStatement, CLOCK_LEEWAY_MS, assertLife } from './access-statement.js';
import { unpackEnvelope } from './envelope.js';
import { CONTEXT, SIGNER } from './signed-access-statement.js';
import type { SignedTime } from './signed-time.js';

/** Whom whoever verifies trusts at the moment. */
export interface StatementRoots {
  readonly rootsPem: readonly string[];
  readonly trustDomain: string;
}

/** A statement that `keys` signed. Whether its time has come, or has passed, is asked at each use. */
export interface VerifiedStatement {
  readonly statement: AccessStatement;
  readonly rules: CompiledRules;
  /** SHA-256 of the whole envelope, base64url. */
  readonly digest: string;
  readonly openUntilMs: number;
  readonly streamsUntilMs: number;
}

export interface VerifierOptions {
  /** Asked each time: roots are rotated. */
  readonly trust: () => StatementRoots;
  readonly time: SignedTime;
}

const MAX_STATEMENTS = 512;
const MAX_SIGNERS = 16;
/** How long a signer's chain counts without being looked at again: it might end meanwhile. */
const SIGNER_KNOWN_MS = 60_000;

interface KnownSigner {
  readonly key: KeyObject;
  readonly untilMs: number;
}

/**
 * Verifies statements, each once: who carries one shows it with every connection. What is remembered is what was signed and by whom; times are compared
 * each time, and other roots begin anew.
 */
export class StatementVerifier {
  readonly #trust: () => StatementRoots;
  readonly #time: SignedTime;
  readonly #statements = new BoundedMap<string, VerifiedStatement>({ max: MAX_STATEMENTS, overflow: 'forget-oldest' });
  readonly #signers = new BoundedMap<string, KnownSigner>({ max: MAX_SIGNERS, overflow: 'forget-oldest' });
  #roots = '';

  constructor({ trust, time }: VerifierOptions) {
    this.#trust = trust;
    this.#time = time;
  }

  /**
   * A statement for this cluster by which a connection may be opened now. Throws STATEMENT_REFUSED for one that is not signed, not readable, for
   * another cluster, or of a time that has not come; STATEMENT_EXPIRED after its end.
   */
  async open(
    envelope: Uint8Array,
    cluster: { readonly clusterId: string; readonly tenantId?: string },
  ): Promise<VerifiedStatement> {
    const verified = await this.#verify(envelope);
    const { statement, openUntilMs } = verified;
    const { clusterId, tenantId = statement.tenantId } = cluster;
    if (statement.clusterId !== clusterId || statement.tenantId !== tenantId) {
      throw refused('it is for another cluster');
    }
    const nowMs = this.#time.nowMs();
    if (nowMs >= openUntilMs) {
      const times = `it ended at ${statement.openUntil}, and here it is ${timeOf(nowMs)}`;
      throw new FairleadError('STATEMENT_EXPIRED', `the access statement has ended: ${times}; fetch a new one`);
    }
    return verified;
  }

  async #verify(envelope: Uint8Array): Promise<VerifiedStatement> {
    this.#forgetOtherRoots();
    const digest = createHash('sha256').update(envelope).digest('base64url');
    const known = this.#statements.get(digest);
    if (known) return known;
    const roots = this.#roots;
    const statement = await this.#read(envelope);
    // A clock that is ahead, ours or that of who signed, must not be believed by one word.
    this.#assertBegun(statement);
    this.#time.saw(Date.parse(statement.notBefore));
    const verified = {
      statement,
      rules: compileRules(statement.rules),
      digest,
      openUntilMs: Date.parse(statement.openUntil),
      streamsUntilMs: Date.parse(statement.streamsUntil),
    };
    if (roots === this.#roots) this.#statements.set(digest, verified);
    return verified;
  }

  async #read(envelope: Uint8Array): Promise<AccessStatement> {
    const signed = unpackEnvelope(envelope);
    if (!isSignedBy(await this.#signer(signed.signerChainPem), CONTEXT, signed)) {
      throw refused('its signature does not match');
    }
    const statement = AccessStatement.safeParse(readJson(signed.document));
    if (!statement.success) throw refused('it says what is not understood here', statement.error);
    try {
      assertLife(statement.data);
    } catch (cause) {
      throw refused('its times are not those of a statement', cause);
    }
    return statement.data;
  }

  async #signer(chainPem: readonly string[]): Promise<KeyObject> {
    const nowMs = this.#time.nowMs();
    const name = chainPem.join('');
    const known = this.#signers.get(name);
    if (known && nowMs < known.untilMs) return known.key;
    try {
      const key = await openSigner(CONTEXT, chainPem, { ...this.#trust(), at: new Date(nowMs) }, SIGNER);
      this.#signers.set(name, { key, untilMs: nowMs + SIGNER_KNOWN_MS });
      return key;
    } catch (cause) {
      throw refused(cause instanceof FairleadError ? cause.message : 'its signer is not known', cause);
    }
  }

  #assertBegun({ notBefore }: AccessStatement): void {
    const nowMs = this.#time.nowMs();
    const aheadMs = Date.parse(notBefore) - nowMs;
    if (aheadMs <= CLOCK_LEEWAY_MS) return;
    const times = `it begins at ${notBefore}, and here it is ${timeOf(nowMs)}`;
    throw refused(`${times}: one of the two clocks is wrong by ${Math.round(aheadMs / 1_000)} s`);
  }

  #forgetOtherRoots(): void {
    const { rootsPem, trustDomain } = this.#trust();
    const roots = `${trustDomain}\n${rootsPem.join('')}`;
    if (roots === this.#roots) return;
    this.#roots = roots;
    this.#signers.clear();
    this.#statements.clear();
  }
}

function readJson(document: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(document));
  } catch (cause) {
    throw refused('it is not JSON', cause);
  }
}

const timeOf = (ms: number): string => new Date(ms).toISOString();

function refused(why: string, cause?: unknown): FairleadError {
  return new FairleadError('STATEMENT_REFUSED', `the access statement is refused: ${why}`, { cause });
}

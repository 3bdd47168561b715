import { hash } from 'node:crypto';
import { compileOwnRules, type CompiledRules } from '@fairlead/access-rules';
import { FairleadError } from '@fairlead/errors';
import { BoundedMap } from '@fairlead/limits';
import { isSignedBy, openSigner, type VerifiedSigner } from '@fairlead/pki';
import { AccessStatement, CLOCK_LEEWAY_MS, lifeOf, type StatementLife } from './access-statement.js';
import { pemOf, readEnvelope, type Envelope } from './envelope.js';
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
/** Without state: each call decodes a whole document. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

interface KnownStatement {
  readonly verified: VerifiedStatement;
  readonly signer: VerifiedSigner;
}

/**
 * Verifies statements, each once, and signers, each once: who carries a statement shows it with every connection, and one signer signs for a quarter of an hour.
 * What is remembered is what was signed and by whom; times are compared each time, those of the signer's certificates too, and other roots begin anew.
 */
export class StatementVerifier {
  readonly #trust: () => StatementRoots;
  readonly #time: SignedTime;
  readonly #statements = new BoundedMap<string, KnownStatement>({ max: MAX_STATEMENTS, overflow: 'forget-oldest' });
  readonly #signers = new BoundedMap<string, VerifiedSigner>({ max: MAX_SIGNERS, overflow: 'forget-oldest' });
  /** What everything remembered was verified by: a copy, for whoever changes the list itself. */
  #roots: StatementRoots = { trustDomain: '', rootsPem: [] };

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
    const digest = hash('sha256', envelope, 'base64url');
    const known = this.#statements.get(digest);
    if (known && this.#counts(known.signer)) return known.verified;
    const roots = this.#roots;
    const signed = readEnvelope(envelope);
    const signer = await this.#signer(signed);
    const { statement, life } = read(signed, signer);
    // A clock that is ahead, ours or that of who signed, must not be believed by one word.
    this.#assertBegun(statement, life);
    this.#time.saw(life.notBeforeMs);
    const { openUntilMs, streamsUntilMs } = life;
    const verified = { statement, rules: compileOwnRules(statement.rules), digest, openUntilMs, streamsUntilMs };
    if (roots === this.#roots) this.#statements.set(digest, { verified, signer });
    return verified;
  }

  async #signer({ chain, certificates }: Envelope): Promise<VerifiedSigner> {
    const name = Buffer.from(chain.buffer, chain.byteOffset, chain.byteLength).toString('latin1');
    const known = this.#signers.get(name);
    if (known && this.#counts(known)) return known;
    const roots = this.#roots;
    try {
      const at = new Date(this.#time.nowMs());
      const signer = await openSigner(CONTEXT, certificates.map(pemOf), { ...roots, at }, SIGNER);
      // They may have changed meanwhile: what is remembered by the new ones is not to hold what the old ones made of it.
      if (roots === this.#roots) this.#signers.set(name, signer);
      return signer;
    } catch (cause) {
      throw refused(cause instanceof FairleadError ? cause.message : 'its signer is not known', cause);
    }
  }

  /** Would its chain be verified again now, by the same roots? */
  #counts({ notBeforeMs, notAfterMs }: VerifiedSigner): boolean {
    const nowMs = this.#time.nowMs();
    return notBeforeMs <= nowMs && nowMs <= notAfterMs;
  }

  #assertBegun({ notBefore }: AccessStatement, { notBeforeMs }: StatementLife): void {
    const nowMs = this.#time.nowMs();
    const aheadMs = notBeforeMs - nowMs;
    if (aheadMs <= CLOCK_LEEWAY_MS) return;
    const times = `it begins at ${notBefore}, and here it is ${timeOf(nowMs)}`;
    throw refused(`${times}: one of the two clocks is wrong by ${Math.round(aheadMs / 1_000)} s`);
  }

  #forgetOtherRoots(): void {
    const { rootsPem, trustDomain } = this.#trust();
    if (isSame(this.#roots, { rootsPem, trustDomain })) return;
    this.#roots = { trustDomain, rootsPem: [...rootsPem] };
    this.#signers.clear();
    this.#statements.clear();
  }
}

/** Strings that are one are not read: this is asked for each statement. */
function isSame(one: StatementRoots, other: StatementRoots): boolean {
  return (
    one.trustDomain === other.trustDomain &&
    one.rootsPem.length === other.rootsPem.length &&
    one.rootsPem.every((pem, index) => pem === other.rootsPem[index])
  );
}

function read(signed: Envelope, { key }: VerifiedSigner): { statement: AccessStatement; life: StatementLife } {
  if (!isSignedBy(key, CONTEXT, signed)) throw refused('its signature does not match');
  const statement = understood(readJson(signed.document));
  try {
    return { statement, life: lifeOf(statement) };
  } catch (cause) {
    throw refused('its times are not those of a statement', cause);
  }
}

function understood(said: unknown): AccessStatement {
  const parsed = AccessStatement.safeParse(said);
  if (!parsed.success) throw refused('it says what is not understood here', parsed.error);
  return parsed.data;
}

function readJson(document: Uint8Array): unknown {
  try {
    return JSON.parse(UTF8.decode(document));
  } catch (cause) {
    throw refused('it is not JSON', cause);
  }
}

const timeOf = (ms: number): string => new Date(ms).toISOString();

function refused(why: string, cause?: unknown): FairleadError {
  return new FairleadError('STATEMENT_REFUSED', `the access statement is refused: ${why}`, { cause });
}

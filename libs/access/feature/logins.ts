import { NO_TENANT, type Caller, type Issuer, type LoginSecrets } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { KeyedRateLimit, RateLimitedEvents } from '@fairlead/limits';
import { signedPart, TOKEN_LEEWAY_SECONDS, type VerifiedToken } from '@fairlead/oidc';
import type { EntityManager } from 'typeorm';
import { endsLogins } from '../domain/issuer-rules.js';
import { identityOf, type LoginIdentity } from '../domain/login-identity.js';
import { revokedUser } from '../domain/revoked.js';
import { checkFirstLogin, checkRenewal } from '../domain/login-proof.js';
import { hashOfSecret, newTokenSecret } from '../domain/token-secret.js';
import { findIssuer, holdIssuer, type StoredIssuer } from '../store/issuer-store.js';
import {
  endOldSessions,
  holdSession,
  insertLogin,
  insertSession,
  regroupLogins,
  spendToken,
  type StoredSession,
} from '../store/login-store.js';
import { addRevoked } from '../store/revocation-store.js';
import { findUser, rememberUser } from '../store/user-store.js';
import { ID_TOKEN_AGE_SECONDS, IssuerTokens } from './issuer-tokens.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

/** Of one user: a machine with many terminals, or a pipeline with many jobs, has that many; a loop has not. */
const LOGINS = { burst: 100, perSecond: 0.5 };
/** Of one person; the oldest ends. */
const MAX_SESSIONS = 50;

export interface LoginsOptions {
  /** How long a token of ours is good. */
  readonly loginSeconds: number;
  /** How long a person's logins are renewed after the first one. */
  readonly sessionSeconds: number;
}

export interface ExchangeInput {
  readonly issuer: string;
  readonly token: string;
  readonly nonceVerifier?: string | undefined;
  readonly sessionHash?: string | undefined;
}

/** A token that was verified, and what is to come of it. */
interface Exchange {
  readonly caller: Caller;
  readonly issuer: StoredIssuer;
  readonly input: ExchangeInput;
  readonly verified: VerifiedToken;
  readonly identity: LoginIdentity;
}

/** Short tokens of ours for those that issuers signed. */
export class Logins {
  readonly #refusals = new RateLimitedEvents();
  readonly #rate = new KeyedRateLimit(LOGINS);
  readonly #tokens: IssuerTokens;

  constructor(
    private readonly runtime: Runtime,
    private readonly options: LoginsOptions,
  ) {
    this.#tokens = new IssuerTokens(runtime.logger);
  }

  /** See the contract. A token that is refused leaves nothing but an event. */
  async exchange(caller: Caller, input: ExchangeInput): Promise<LoginSecrets> {
    const issuer = await read(this.runtime, (manager) => findIssuer(manager, input.issuer));
    let identity: LoginIdentity | null = null;
    try {
      if (!issuer) throw refused('there is no such issuer');
      const { definition, tenantId } = issuer;
      const verified = await this.#tokens.verify(definition, input.token);
      identity = identityOf(definition, verified.claims);
      if (!this.#rate.take(`${tenantId} ${identity.user}`, performance.now()))
        throw new FairleadError('RATE_LIMITED', 'too many logins of this user; wait and try again');
      return await this.#login({ caller, issuer, input, verified, identity });
    } catch (error) {
      return await this.#refuse(caller, issuer, identity, toFairleadError(error));
    }
  }

  #login(exchange: Exchange): Promise<LoginSecrets> {
    const { issuer, input, verified } = exchange;
    return commit(this.runtime, async (manager) => {
      // Whoever removes or changes the issuer now waits, and then ends what is made here.
      const held = await holdIssuer(manager, issuer.name);
      if (!held || held.tenantId !== issuer.tenantId || endsLogins(issuer.definition, held.definition))
        throw refused('its issuer was changed meanwhile; log in again');
      if (issuer.definition.kind === 'workload') return this.#grant(manager, exchange, null, null);
      await this.#spend(manager, input.token, verified);
      if (input.sessionHash === undefined) return this.#begin(manager, exchange, held.definition);
      const session = await holdSession(manager, input.sessionHash);
      if (!session) throw refused('the session has ended; log in again');
      checkRenewal(
        { ...session, user: session.userName },
        held.definition,
        exchange.identity,
        verified.claims['nonce'],
        this.runtime.now(),
      );
      return this.#grant(manager, exchange, session, null);
    });
  }

  /** An ID token is exchanged once: whoever comes with it again has got hold of it. */
  async #spend(manager: EntityManager, token: string, { issuedAtMs }: VerifiedToken): Promise<void> {
    const keepUntil = new Date(issuedAtMs + (ID_TOKEN_AGE_SECONDS + 2 * TOKEN_LEEWAY_SECONDS) * 1_000);
    if (!(await spendToken(manager, hashOfSecret(signedPart(token)), keepUntil)))
      throw refused('it was used for a login before');
  }

  async #begin(manager: EntityManager, exchange: Exchange, definition: Issuer): Promise<LoginSecrets> {
    const { issuer, input, verified, identity } = exchange;
    const nonce = checkFirstLogin(definition, verified.claims['nonce'], input.nonceVerifier);
    const secret = newTokenSecret();
    const begunAt = this.runtime.now();
    const session = {
      id: crypto.randomUUID(),
      tenantId: issuer.tenantId,
      issuer: issuer.name,
      subject: identity.subject,
      userName: identity.user,
      secretHash: hashOfSecret(secret),
      nonce,
      begunAt,
      endsAt: new Date(begunAt.getTime() + this.options.sessionSeconds * 1_000),
    };
    await insertSession(manager, session);
    await endOldSessions(manager, issuer.name, identity.user, MAX_SESSIONS);
    return this.#grant(manager, exchange, session, secret);
  }

  /** The login itself, by a session or a program's token. `secret`: the session's, if it is new. */
  async #grant(
    manager: EntityManager,
    exchange: Exchange,
    session: StoredSession | null,
    secret: string | null,
  ): Promise<LoginSecrets> {
    const { issuer, identity } = exchange;
    const subjectGroups = await this.#remember(manager, exchange);
    const token = newTokenSecret();
    const createdAt = this.runtime.now();
    const lastsUntilMs = createdAt.getTime() + this.options.loginSeconds * 1_000;
    const login = {
      id: crypto.randomUUID(),
      tenantId: issuer.tenantId,
      issuer: issuer.name,
      kind: identity.kind,
      sessionId: session?.id ?? null,
      userName: identity.user,
      subjectGroups,
      tokenHash: hashOfSecret(token),
      createdAt,
      // The last renewal of a session is good no longer than the session.
      expiresAt: new Date(Math.min(lastsUntilMs, session?.endsAt.getTime() ?? Infinity)),
    };
    await insertLogin(manager, login);
    const expiresAt = login.expiresAt.toISOString();
    await tell(this.runtime, manager, 'dev.fairlead.login.succeeded.v1', {
      ...about(exchange.caller, issuer, identity),
      loginId: login.id,
      renewed: session !== null && secret === null,
      expiresAt,
    });
    const sessionEndsAt = session?.endsAt.toISOString() ?? null;
    return { token, expiresAt, user: identity.user, session: secret, sessionEndsAt };
  }

  /** The groups that count now, for all logins of the user: whoever left a group has left it everywhere with the next renewal. */
  async #remember(manager: EntityManager, { issuer, identity, verified }: Exchange): Promise<string[]> {
    const { user: name, groups } = identity;
    const seen = {
      tenantId: issuer.tenantId,
      name,
      kind: identity.kind === 'workload' ? ('workload' as const) : ('user' as const),
      issuer: issuer.name,
      groups,
      groupsAsOf: new Date(verified.issuedAtMs),
      now: this.runtime.now(),
    };
    const before = await findUser(manager, seen.tenantId, name);
    const subjectGroups = await rememberUser(manager, seen);
    // What was signed by grants to a group that they have left.
    if (before?.groups.some((group) => !subjectGroups.includes(group)))
      await addRevoked(manager, seen.tenantId, [revokedUser(name, seen.now)]);
    await regroupLogins(manager, { issuer: issuer.name, userName: name, subjectGroups });
    return subjectGroups;
  }

  async #refuse(
    caller: Caller,
    issuer: StoredIssuer | null,
    identity: LoginIdentity | null,
    error: FairleadError,
  ): Promise<never> {
    if (error.kind.http >= 500) throw error;
    const suppressed = this.#refusals.take(identity && issuer && `${issuer.tenantId} ${identity.user}`);
    if (suppressed === null) throw error;
    const type = 'dev.fairlead.login.refused.v1';
    const event = { ...about(caller, issuer, identity), reason: error.code, why: error.message, suppressed };
    try {
      await commit(this.runtime, (manager) => tell(this.runtime, manager, type, event));
    } catch (cause) {
      // The refusal stands, whether or not it could be recorded.
      this.runtime.logger.error('event.not_recorded', { type, subject: event.subject, reason: error.code, err: cause });
    }
    throw error;
  }
}

function about(caller: Caller, issuer: StoredIssuer | null, identity: LoginIdentity | null) {
  const actor = actorOf(caller);
  return {
    tenantId: issuer?.tenantId ?? NO_TENANT,
    issuer: issuer?.name ?? null,
    user: identity?.user ?? null,
    kind: identity?.kind ?? null,
    subject: issuer ? `issuer/${issuer.name}` : 'issuer/unknown',
    actor: identity ? { ...actor, kind: 'user' as const, id: identity.user } : actor,
    reason: 'OK',
  };
}

function refused(why: string): FairleadError {
  return new FairleadError('UNAUTHENTICATED', `the token is not taken: ${why}`);
}

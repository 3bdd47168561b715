import type { Issuer } from '@fairlead/contracts';
import { BoundedMap } from '@fairlead/limits';
import { IssuerKeys, verifyToken, type VerifiedToken } from '@fairlead/oidc';
import type { Logger } from '@fairlead/observability';

/** Of all tenants; the keys of the one used longest ago are fetched again. */
const MAX_ISSUERS = 1_000;
/** An ID token is for now: one that turns up later was kept by somebody. */
export const ID_TOKEN_AGE_SECONDS = 600;
/** A program may keep the token that its platform put in its file system, and renews, for a day. */
const WORKLOAD_TOKEN_AGE_SECONDS = 86_400;

/** Verifies tokens by the keys of their issuers, which it keeps. */
export class IssuerTokens {
  readonly #logger: Logger;
  readonly #held = new BoundedMap<string, { source: string; keys: IssuerKeys }>({
    max: MAX_ISSUERS,
    overflow: 'forget-oldest',
  });

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** UNAUTHENTICATED, or UNAVAILABLE if the issuer's keys cannot be had. */
  verify(issuer: Issuer, token: string): Promise<VerifiedToken> {
    const person = issuer.kind === 'oidc';
    return verifyToken(token, this.#keysOf(issuer), {
      issuer: issuer.url,
      audience: issuer.audience,
      maxAgeSeconds: person ? ID_TOKEN_AGE_SECONDS : WORKLOAD_TOKEN_AGE_SECONDS,
      sharedAudience: person ? 'if-issued-to-us' : 'refused',
    });
  }

  #keysOf({ name, url, certificateAuthority, jwks }: Issuer): IssuerKeys {
    const source = JSON.stringify([url, certificateAuthority, jwks]);
    const held = this.#held.get(name);
    if (held?.source === source) return held.keys;
    const keys = new IssuerKeys(
      { url, certificateAuthority, jwks },
      { onFailed: ({ message }) => this.#logger.warn('issuer.keys_not_fetched', { issuer: name, reason: message }) },
    );
    this.#held.set(name, { source, keys });
    return keys;
  }
}

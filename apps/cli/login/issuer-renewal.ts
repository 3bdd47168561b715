import { refreshTokenGrant, tokenRevocation } from 'openid-client';
import type { ProxyConfig } from '../config.js';
import { failure } from '../failure.js';
import type { KnownIssuer } from '../session/login-store.js';
import { connectIssuer, explainIssuer, type IssuerTokens } from './issuer-connection.js';

/** A new ID token for a refresh token, which is worth nothing afterwards if a new one comes with it. UNAUTHENTICATED, marked as refused, if it is worth nothing already. */
export async function refreshAtIssuer(
  issuer: KnownIssuer,
  refreshToken: string,
  proxy: ProxyConfig | undefined,
): Promise<IssuerTokens> {
  await using connection = await connectIssuer(issuer, proxy);
  const tokens = await refreshTokenGrant(connection.config, refreshToken).catch((error: unknown) => {
    throw explainIssuer(issuer, error);
  });
  if (tokens.id_token !== undefined) return { idToken: tokens.id_token, refreshToken: tokens.refresh_token };
  const next = 'ask an administrator for an issuer that gives an ID token when a login is renewed';
  throw failure('PROTOCOL_ERROR', `${issuer.name} gives no ID token for a refresh token`, next);
}

/** Tells the issuer that nobody uses a refresh token any more (RFC 7009), where it takes that. */
export async function revokeAtIssuer(
  issuer: KnownIssuer,
  refreshToken: string,
  proxy: ProxyConfig | undefined,
): Promise<void> {
  await using connection = await connectIssuer(issuer, proxy);
  if (connection.config.serverMetadata().revocation_endpoint === undefined) return;
  await tokenRevocation(connection.config, refreshToken, { token_type_hint: 'refresh_token' }).catch(
    (error: unknown) => {
      throw explainIssuer(issuer, error);
    },
  );
}

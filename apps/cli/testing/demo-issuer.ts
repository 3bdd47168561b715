import type { Issuer } from '@fairlead/contracts';
import type { DemoIssuer } from '@fairlead/stack/demo-issuer';

/** The demo issuer as an administrator would put it. */
export function issuerAs(name: string, issuer: DemoIssuer, more: Partial<Issuer> = {}): Issuer {
  return {
    name,
    kind: 'oidc',
    url: issuer.url,
    audience: issuer.clientId,
    scopes: ['openid', 'profile', 'offline_access'],
    userClaim: 'sub',
    groupsClaim: 'groups',
    prefix: `${name}:`,
    certificateAuthority: null,
    requiredClaims: {},
    deviceCode: true,
    jwks: null,
    ...more,
  };
}

import { createHash, randomBytes } from 'node:crypto';
import * as oidc from 'openid-client';

const CALLBACK = 'http://127.0.0.1:9/callback';
const MAX_REDIRECTS = 12;

/** Somebody at an issuer's pages: from the URL of the first one to the address that it sends the browser back to. */
export type Browse = (visit: Visit, first: URL) => Promise<URL>;

/** Opens a page with the cookies so far, without following what it answers. */
export type Visit = (url: URL, form?: Readonly<Record<string, string>>) => Promise<Response>;

/** What a command has after a login at an issuer. */
export interface AtIssuer {
  readonly idToken: string;
  readonly nonceVerifier: string;
  /** A new ID token by the refresh token, which the issuer may change each time. */
  readonly refresh: () => Promise<string>;
}

/** A login as the command makes it: code with PKCE and a nonce that is the hash of a secret, by openid-client. */
export async function logInAt(issuer: string, clientId: string, browse: Browse): Promise<AtIssuer> {
  const config = await connectTo(issuer, clientId);
  const nonceVerifier = randomBytes(32).toString('base64url');
  const nonce = createHash('sha256').update(nonceVerifier).digest('base64url');
  const [codeVerifier, state] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: 'openid profile email offline_access',
    prompt: 'consent',
    code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    nonce,
    state,
  });
  const back = await browse(withCookies(), url);
  const tokens = await oidc.authorizationCodeGrant(config, back, {
    pkceCodeVerifier: codeVerifier,
    expectedNonce: nonce,
    expectedState: state,
    idTokenExpected: true,
  });
  let refreshToken = tokens.refresh_token!;
  const refresh = async (): Promise<string> => {
    const renewed = await oidc.refreshTokenGrant(config, refreshToken);
    refreshToken = renewed.refresh_token ?? refreshToken;
    return renewed.id_token!;
  };
  return { idToken: tokens.id_token!, nonceVerifier, refresh };
}

/** A login by device code, at a page that asks nobody. */
export async function logInByDevice(
  issuer: string,
  clientId: string,
  confirm: (code: string) => Promise<void>,
): Promise<string> {
  const config = await connectTo(issuer, clientId);
  const begun = await oidc.initiateDeviceAuthorization(config, { scope: 'openid profile' });
  await confirm(begun.user_code);
  const tokens = await oidc.pollDeviceAuthorizationGrant(config, { ...begun, interval: 0.1 });
  return tokens.id_token!;
}

/** Follows redirects from here until one leads back to the command. */
export async function follow(
  visit: Visit,
  from: URL,
  response: Response,
): Promise<{ back: URL } | { page: URL; html: string }> {
  let [url, answer] = [from, response];
  for (let hops = 0; hops < MAX_REDIRECTS; hops += 1) {
    const location = answer.headers.get('location');
    if (location === null) return { page: url, html: await answer.text() };
    url = new URL(location, url);
    if (url.href.startsWith(CALLBACK)) return { back: url };
    answer = await visit(url);
  }
  throw new Error(`${from.href} redirects without an end`);
}

function connectTo(issuer: string, clientId: string): Promise<oidc.Configuration> {
  return oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), { execute: [oidc.allowInsecureRequests] });
}

/** A browser of its own. */
export function withCookies(): Visit {
  const cookies = new Map<string, string>();
  return async (url, form) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', ...value] = line.split(';')[0]!.split('=');
      cookies.set(name, value.join('='));
    }
    return response;
  };
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type Configuration, type JWK } from 'oidc-provider';
import { follow, withCookies, type Browse } from './log-in-at.js';

const CLIENT_ID = 'fairlead';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

const TTL_SECONDS = {
  AccessToken: 300,
  AuthorizationCode: 60,
  DeviceCode: 600,
  Grant: 3_600,
  IdToken: 300,
  Interaction: 600,
  RefreshToken: 3_600,
  Session: 3_600,
};

export interface RealProvider extends AsyncDisposable {
  readonly url: string;
  readonly clientId: string;
  /** Who is logged in by whoever comes, and their groups. */
  user: { readonly name: string; readonly groups: readonly string[] };
  /** Signs by this key from now on, and publishes it alone. */
  rotate(key: JWK): void;
  /** Somebody at its pages: they ask nothing. */
  readonly browse: Browse;
  /** Says yes to a device code. */
  confirmDevice(code: string): Promise<void>;
}

/** npm's oidc-provider on loopback, whose pages let `user` in without asking. */
export async function startRealProvider(key: JWK): Promise<RealProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let provider: Provider;
  let serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  const real: RealProvider = {
    url,
    clientId: CLIENT_ID,
    user: { name: 'alice', groups: ['ops'] },
    rotate(next) {
      provider = new Provider(url, configuration(next, real));
      serve = provider.callback();
    },
    browse: async (visit, first) => {
      const end = await follow(visit, first, await visit(first));
      if ('back' in end) return end.back;
      throw new Error(`the login stopped at ${end.page.href}: ${end.html}`);
    },
    confirmDevice: (code) => confirm(url, code),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  real.rotate(key);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/interaction/')) void letIn(provider, real, request, response);
    else void serve(request, response);
  });
  return real;
}

function configuration(key: JWK, real: RealProvider): Configuration {
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        id_token_signed_response_alg: 'ES256',
        redirect_uris: ['http://127.0.0.1/callback'],
        grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['of a test'] },
    claims: { openid: ['sub'], profile: ['groups'], email: ['email'] },
    conformIdTokenClaims: false,
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    findAccount: (_, name) => ({
      accountId: name,
      claims: () => ({ sub: name, email: `${name}@example.invalid`, groups: [...real.user.groups] }),
    }),
    ttl: TTL_SECONDS,
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      deviceFlow: { enabled: true, mask: '****', charset: 'digits' },
    },
  };
}

async function letIn(
  provider: Provider,
  { user }: RealProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params } = await provider.interactionDetails(request, response);
  const grant = new provider.Grant({ accountId: user.name, clientId: CLIENT_ID });
  grant.addOIDCScope(String(params['scope']));
  const login = { accountId: user.name, remember: false };
  await provider.interactionFinished(request, response, { login, consent: { grantId: await grant.save() } });
}

/** The two forms of its own pages, and the login between them. */
async function confirm(url: string, code: string): Promise<void> {
  const visit = withCookies();
  const device = new URL('/device', url);
  const xsrfOf = (html: string): string => /name="xsrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const first = await (await visit(device)).text();
  const second = await (await visit(device, { xsrf: xsrfOf(first), user_code: code })).text();
  const third = await visit(device, { xsrf: xsrfOf(second), user_code: code, confirm: 'yes' });
  const end = await follow(visit, device, third);
  if ('back' in end || !end.html.includes('Sign-in Success'))
    throw new Error(`the device was not let in: ${JSON.stringify(end)}`);
}

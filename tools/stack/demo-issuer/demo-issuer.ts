import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type Configuration, type JWK, type KoaContextWithOIDC } from 'oidc-provider';
import { DEMO_CLIENT_ID } from './client-id.js';
import { memoryStore } from './memory-store.js';
import { choicePage, escaped, page } from './pages.js';
import { DEMO_USERS, type DemoUser } from './users.js';

const HOST = '127.0.0.1';
const MAX_FORM_BYTES = 4_096;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export interface DemoIssuerOptions {
  /** Default 0, which takes a free one. */
  readonly port?: number;
  /** Default: DEMO_USERS. It is read at each login and renewal. */
  readonly users?: readonly DemoUser[];
  /** Of ID tokens, in seconds; default 300. */
  readonly idTokenSeconds?: number;
  /** Default: a new one. An issuer that comes back with another has forgotten its keys. */
  readonly key?: JWK;
  /** Hears of each request, its path only. */
  readonly onRequest?: (method: string, path: string) => void;
}

export interface DemoIssuer extends AsyncDisposable {
  /** `iss` of its tokens. */
  readonly url: string;
  /** The only client; it has no secret. */
  readonly clientId: string;
}

/**
 * An issuer (OpenID Connect) that believes whoever says who they are: for demos and tests, on 127.0.0.1 alone. What it knows of logins is in
 * memory.
 */
export async function startDemoIssuer(options: DemoIssuerOptions = {}): Promise<DemoIssuer> {
  const { port = 0, users = DEMO_USERS, onRequest } = options;
  const server = createServer();
  server.listen({ port, host: HOST });
  await once(server, 'listening');
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, configuration(options, users));
  const serve = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? '/', url).pathname;
    onRequest?.(request.method ?? '', path);
    if (path === '/readyz') response.end('ok\n');
    else if (!path.startsWith('/interaction/')) void serve(request, response);
    else void interact(provider, users, request, response).catch(() => refuse(response));
  });
  return { url, clientId: DEMO_CLIENT_ID, [Symbol.asyncDispose]: () => stop(server) };
}

/** A key to sign with, for issuers that are to be taken for one and the same. */
export function issuerKey(): JWK {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = randomBytes(8).toString('hex');
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid };
}

function configuration(
  { key = issuerKey(), idTokenSeconds = 300 }: DemoIssuerOptions,
  users: readonly DemoUser[],
): Configuration {
  return {
    clients: [
      {
        client_id: DEMO_CLIENT_ID,
        client_name: 'Fairlead',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        id_token_signed_response_alg: 'ES256',
        // Of a native client any port of these is taken (RFC 8252, 7.3).
        redirect_uris: [`http://${HOST}/callback`, 'http://[::1]/callback'],
        grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
        response_types: ['code'],
      },
    ],
    adapter: memoryStore(),
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email'] },
    // The command has the ID token alone, and so has Fairlead.
    conformIdTokenClaims: false,
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    pkce: { required: () => true },
    findAccount: (_, name) => accountOf(users, name),
    ttl: {
      AccessToken: 300,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Grant: 604_800,
      IdToken: idTokenSeconds,
      Interaction: 600,
      RefreshToken: 604_800,
      Session: 3_600,
    },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    renderError: (context, { error, error_description: description }) =>
      show(context, 'That did not work', `<p>${escaped(`${error}: ${description ?? ''}`)}</p>`),
    features: {
      devInteractions: { enabled: false },
      // There is one client, and who has a token may end it.
      revocation: { enabled: true, allowedPolicy: () => true },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: (context, form, _out, error) => {
          const again = error ? '<p>That is not a code that waits. Try again.</p>' : '';
          const send = '<button type="submit" form="op.deviceInputForm">Go on</button>';
          show(context, 'Enter the code that the terminal shows', `${again}${form}${send}`);
        },
        userCodeConfirmSource: (context, form, _client, _device, code) => {
          const yes = '<button type="submit" form="op.deviceConfirmForm">The terminal shows this code</button>';
          const no = '<button type="submit" form="op.deviceConfirmForm" name="abort" value="yes">It does not</button>';
          show(context, `Is it ${code}?`, `${form}${yes} ${no}`);
        },
        successSource: (context) => show(context, 'You are logged in', '<p>Go on in the terminal.</p>'),
      },
    },
  };
}

function accountOf(users: readonly DemoUser[], name: string) {
  const user = users.find((each) => each.name === name);
  if (!user) return undefined;
  const claims = {
    sub: name,
    name: `${name} (${user.title})`,
    groups: [...user.groups],
    email: `${name}@demo.invalid`,
  };
  return { accountId: name, claims: () => claims };
}

function show(context: KoaContextWithOIDC, title: string, body: string): void {
  context.type = 'html';
  context.body = page(title, body);
}

/** The one page of a login, and what was clicked on it: both prompts of the issuer, login and consent, are answered at once. */
async function interact(
  provider: Provider,
  users: readonly DemoUser[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // By the cookie of the browser that began it.
  const { uid, params } = await provider.interactionDetails(request, response);
  const path = `/interaction/${uid}`;
  if (request.method !== 'POST' || request.url !== path) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    return void response.end(choicePage(path, users));
  }
  const chosen = new URLSearchParams(await formOf(request)).get('user') ?? '';
  if (!users.some(({ name }) => name === chosen)) {
    const denied = { error: 'access_denied', error_description: 'nobody was chosen' };
    return provider.interactionFinished(request, response, denied);
  }
  const grant = new provider.Grant({ accountId: chosen, clientId: String(params['client_id']) });
  grant.addOIDCScope(String(params['scope']));
  const consent = { grantId: await grant.save() };
  // Forgotten at once: the next login may be somebody else's.
  await provider.interactionFinished(request, response, { login: { accountId: chosen, remember: false }, consent });
}

async function formOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > MAX_FORM_BYTES) throw new Error('the form is too long');
  }
  return text;
}

function refuse(response: ServerResponse): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(400, { 'content-type': 'text/html; charset=utf-8' });
  response.end(page('This login is not there any more', '<p>Begin again: fairlead login</p>'));
}

async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, generateKeyPair, type CryptoKey, type JWK } from 'jose';

export interface SigningKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** An issuer whose every answer a test may choose, on a loopback port: what a broken, hostile or rotated one does. */
export interface TestIssuer extends AsyncDisposable {
  /** Its name, and where it is. */
  readonly url: string;
  /** What its discovery and its keys answer; absent: as they should be. */
  answers: { discovery?: Answer; keys?: Answer };
  /** The keys that it publishes, of which the first one signs. */
  keys: readonly SigningKey[];
  /** Requests for its keys so far. */
  readonly asked: number;
  /** A signed token with these claims, for ten minutes unless they say otherwise. `null` leaves a claim out. */
  sign(claims: Readonly<Record<string, unknown>>, options?: SignOptions): Promise<string>;
}

export interface SignOptions {
  readonly key?: SigningKey;
  readonly header?: Readonly<Record<string, unknown>>;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export async function newSigningKey(algorithm = 'ES256', kid: string = crypto.randomUUID()): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  return { kid, algorithm, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid } };
}

/** `tls`: it speaks https, with this certificate for 127.0.0.1. */
export async function startTestIssuer(tls?: { readonly key: string; readonly cert: string }): Promise<TestIssuer> {
  const keys = [await newSigningKey()];
  let asked = 0;
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const isKeys = request.url === '/keys';
    if (isKeys) asked += 1;
    const chosen = isKeys ? issuer.answers.keys : issuer.answers.discovery;
    if (chosen) return chosen(request, response);
    const body = isKeys
      ? { keys: issuer.keys.map(({ publicJwk }) => publicJwk) }
      : { issuer: url, jwks_uri: `${url}/keys`, response_types_supported: ['id_token'] };
    answerJson(response, body);
  };
  const server = tls ? createTlsServer(tls, serve) : createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = {
    url,
    answers: {},
    keys,
    get asked() {
      return asked;
    },
    sign: (claims, options) => sign(url, options?.key ?? issuer.keys[0]!, claims, options?.header),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  } as TestIssuer;
  return issuer;
}

export function answerJson(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

function sign(
  issuer: string,
  { kid, algorithm, privateKey }: SigningKey,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const all = { iss: issuer, iat: now, exp: now + 600, sub: 'alice', ...claims };
  const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
  return new SignJWT(present).setProtectedHeader({ alg: algorithm, kid, ...header }).sign(privateKey);
}

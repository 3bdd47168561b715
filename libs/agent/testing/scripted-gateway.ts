import { once } from 'node:events';
import {
  Http2ServerRequest,
  Http2ServerResponse,
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { toBinary } from '@bufbuild/protobuf';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import {
  AgentLinkService,
  DiscoverRequestSchema,
  EnrolRequestSchema,
  type DiscoverResponse,
  type EnrolRequest,
  type EnrolResponse,
  type RenewRequest,
  type RenewResponse,
  type SignedTrust as WireTrust,
} from '@fairlead/proto';
import { checkCsr, issueIdentity, signTrust, type SignedTrust } from '@fairlead/pki';
import { endsAtOnce, type TestAuthority } from '@fairlead/testing';
import { toConnectError } from '@fairlead/tunnel/link';
import type { Endpoint } from '../forward-proxy.js';

type Message<T> = Omit<T, '$typeName' | '$unknown'>;

export interface Script {
  readonly key: string;
  readonly cert: string;
  readonly discover: Message<DiscoverResponse>;
  enrol?(request: EnrolRequest, session: ServerHttp2Session): Promise<Message<EnrolResponse>>;
  renew?(request: RenewRequest): Promise<Message<RenewResponse>>;
}

/** A gateway, real or false, that says what a test tells it to, over real TLS and gRPC. */
export interface ScriptedGateway extends AsyncDisposable {
  readonly endpoint: Endpoint;
  /** Paths of all calls, as they came. */
  readonly calls: string[];
  /** Every message of every call that could be decrypted here. */
  readonly received: Buffer[];
  /** What each connection called it in TLS (SNI). */
  readonly serverNames: readonly (string | false | null)[];
}

export async function startScriptedGateway(script: Script): Promise<ScriptedGateway> {
  const calls: string[] = [];
  const received: Buffer[] = [];
  const sessions: ServerHttp2Session[] = [];
  const handle = connectNodeAdapter({
    routes: (router) =>
      router.service(AgentLinkService, {
        discover: (request) => {
          received.push(Buffer.from(toBinary(DiscoverRequestSchema, request)));
          return script.discover;
        },
        renew: (request) => (script.renew as NonNullable<Script['renew']>)(request),
        enrol: async (request) => {
          received.push(Buffer.from(toBinary(EnrolRequestSchema, request)));
          try {
            return await (script.enrol as NonNullable<Script['enrol']>)(request, sessions.at(-1) as ServerHttp2Session);
          } catch (error) {
            throw toConnectError(error);
          }
        },
      }),
  });
  const server = createSecureServer({ key: script.key, cert: script.cert, minVersion: 'TLSv1.3' });
  const serverNames: (string | false | null)[] = [];
  server.on('secureConnection', (socket: TLSSocket) => void serverNames.push(socket.servername ?? null));
  const end = endsAtOnce(server);
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
    calls.push(headers[':path']?.split('/').at(-1) ?? '');
    handle(new Http2ServerRequest(stream, headers, {}, raw), new Http2ServerResponse(stream));
  });
  server.on('sessionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    calls,
    received,
    serverNames,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      await end();
    },
  };
}

/** What registration and keys would answer an enrolment with. */
export async function issueTo(
  authority: TestAuthority,
  clusterId: string,
  { csrDer }: EnrolRequest,
  trustVersion?: number,
): Promise<Message<EnrolResponse>> {
  const { trustDomain, issuing, root } = authority;
  const { certificatePem } = await issueIdentity(issuing, {
    csr: await checkCsr(csrDer),
    id: { kind: 'agent', trustDomain, clusterId },
    generation: 1,
    ...(trustVersion === undefined ? {} : { trustVersion }),
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
  });
  const chainPem = [certificatePem, issuing.certificatePem, root.certificatePem];
  return { clusterId, tenantId: 'default', generation: 1, chainPem, trust: onWire(await trustOf(authority)) };
}

/** The authority's roots as `keys` signs them, or others. */
export async function trustOf(
  authority: TestAuthority,
  {
    version = 1,
    rootsPem = authority.roots,
    name = 'keys',
  }: { version?: number; rootsPem?: readonly string[]; name?: string } = {},
): Promise<SignedTrust> {
  const { privateKeyPem, chain } = await authority.service(name);
  const signer = { keyPem: privateKeyPem, chainPem: chain.slice(0, -1) };
  return signTrust({ version, trustDomain: authority.trustDomain, rootsPem }, signer);
}

export function onWire({ bundle, signerChainPem, signature }: SignedTrust): WireTrust {
  return { $typeName: 'fairlead.link.v1.SignedTrust', bundle, signerChainPem: [...signerChainPem], signature };
}

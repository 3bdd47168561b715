import { once } from 'node:events';
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { ControlRequestSchema, ControlResponseSchema, type Facts, type Hello } from '@fairlead/proto';
import { endsAtOnce, type TestAuthority, type TestCertificate } from '@fairlead/testing';
import { TUNNEL_PATH } from '@fairlead/tunnel/link';
import { TunnelScript } from './tunnel-script.js';
import { MessageReader, grpcMessage } from './wire.js';

type ControlInit = NonNullable<MessageInitShape<typeof ControlResponseSchema>['message']>;

const GRPC_HEADERS = { ':status': 200, 'content-type': 'application/grpc+proto' };

/** One link of the agent under test. */
export interface AgentLink {
  readonly session: ServerHttp2Session;
  readonly hello: Hello;
  /** Tunnel calls in the order they came, used ones too. */
  readonly tunnels: TunnelScript[];
  /** Versions of the trust bundle that the agent said it holds, as they came. */
  readonly held: number[];
  /** What it said that the installer says, as it came. */
  readonly reports: string[];
  /** What the agent said of its cluster after its Hello, as it came. */
  readonly facts: Facts[];
  say(message: ControlInit): void;
  /** Bytes on the Control call that no library would write. */
  sayRaw(bytes: Buffer): void;
  endControl(): void;
}

/** A gateway replica that judges nothing and says what a test tells it to, to a real agent. */
export interface AgentFacingReplica extends AsyncDisposable {
  readonly address: string;
  readonly links: AgentLink[];
  /** What it does with a Hello; Welcome unless changed. */
  greet: (link: AgentLink) => void;
  /** What it shows from now on. */
  certify(certificate: TestCertificate): void;
}

/** `certificate`: what it shows; absent: one of gateway-a. */
export async function startAgentFacingReplica(
  authority: TestAuthority,
  certificate?: TestCertificate,
): Promise<AgentFacingReplica> {
  const { privateKeyPem, chainPem } = certificate ?? (await authority.gateway('gateway-a'));
  const server = createSecureServer({ key: privateKeyPem, cert: chainPem, minVersion: 'TLSv1.3' });
  const sessions = new Set<ServerHttp2Session>();
  const end = endsAtOnce(server);
  const links: AgentLink[] = [];
  const replica: AgentFacingReplica = {
    address: '',
    links,
    greet: (link) => welcome(link),
    certify: ({ privateKeyPem: key, chainPem: cert }) => server.setSecureContext({ key, cert, minVersion: 'TLSv1.3' }),
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      await end();
    },
  };
  server.on('session', (session) => sessions.add(session.on('error', () => undefined)));
  server.on('sessionError', () => undefined);
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => undefined);
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.respond(GRPC_HEADERS, { waitForTrailers: true });
    if (headers[':path'] === TUNNEL_PATH) {
      const link = links.find(({ session }) => session === stream.session);
      link?.tunnels.push(new TunnelScript(stream));
    } else {
      serveControl(stream, (link) => {
        links.push(link);
        replica.greet(link);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(replica, { address: `127.0.0.1:${(server.address() as AddressInfo).port}` });
}

export function welcome(link: AgentLink, links = 0): void {
  const gatewayInstance = `instance-${Math.random()}`;
  link.say({
    case: 'welcome',
    value: { gatewayInstance, gatewayId: 'scripted', sessionId: 's', protocolVersion: 1, links },
  });
}

function serveControl(stream: ServerHttp2Stream, onHello: (link: AgentLink) => void): void {
  const reader = new MessageReader();
  const held: number[] = [];
  const reports: string[] = [];
  const facts: Facts[] = [];
  const sayRaw = (bytes: Buffer): void => void stream.write(bytes);
  stream.on('data', (chunk: Buffer) => {
    for (const message of reader.push(chunk)) {
      const { message: kind } = fromBinary(ControlRequestSchema, message);
      if (kind.case === 'report') reports.push(Buffer.from(kind.value.json).toString('utf8'));
      if (kind.case === 'trustHeld') held.push(kind.value.version);
      if (kind.case === 'facts') facts.push(kind.value);
      if (kind.case !== 'hello') continue;
      onHello({
        session: stream.session as ServerHttp2Session,
        hello: kind.value,
        tunnels: [],
        held,
        reports,
        facts,
        sayRaw,
        say: (answer) =>
          sayRaw(grpcMessage(toBinary(ControlResponseSchema, create(ControlResponseSchema, { message: answer })))),
        endControl: () => void stream.end(),
      });
    }
  });
}

import { connect as connectHttp2, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import {
  create,
  fromBinary,
  toBinary,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import {
  EnrolRequestSchema,
  EnrolResponseSchema,
  RenewRequestSchema,
  RenewResponseSchema,
  type EnrolResponse,
  type RenewResponse,
} from '@fairlead/proto';

/** What somebody sends who wants to be a cluster's agent. */
export interface Attempt {
  /** Empty: no token, it asks to be adopted. */
  readonly tokenId: string;
  readonly secret?: Uint8Array;
  /** In the place of the secret. */
  readonly proof?: Uint8Array;
  readonly csrDer: Uint8Array;
}

export interface Refused {
  readonly code: string;
  readonly message: string;
}

/**
 * A connection to the agents' port by somebody who is no agent: it says what a test tells it to, and trusts whoever
 * answers. What the gateway refuses is returned, not thrown.
 */
export interface LinkClient extends Disposable {
  enrol(attempt: Attempt): Promise<EnrolResponse | Refused>;
  renew(request: MessageInitShape<typeof RenewRequestSchema>): Promise<RenewResponse | Refused>;
}

const CONNECT_MS = 15_000;
const ANSWER_MS = 60_000;
const SERVICE = '/fairlead.link.v1.AgentLinkService';
const FACTS = { agentVersion: '0.1.0', kubernetesVersion: 'v1.34.4', platform: 'linux/amd64' };

interface LinkClientOptions {
  /** Where it comes from; default `127.0.0.1`. */
  readonly localAddress?: string;
  /** PEM of the certificate that it shows; default: none. */
  readonly shown?: { readonly key: string; readonly cert: string };
}

/** `address` is `host:port`. Rejects if nobody answers TLS there. */
export function connectLink(
  address: string,
  { localAddress = '127.0.0.1', shown }: LinkClientOptions = {},
): Promise<LinkClient> {
  const [host = '', port = ''] = address.split(':');
  // Node passes the local address on to the socket, though its types do not say so.
  const options: ConnectionOptions & { localAddress: string } = {
    host,
    port: Number(port),
    localAddress,
    ...shown,
    ALPNProtocols: ['h2'],
    // An attacker does not mind who answers.
    rejectUnauthorized: false,
  };
  return new Promise((resolve, reject) => {
    const socket = connectTls(options);
    socket.setTimeout(CONNECT_MS, () => void socket.destroy(new Error(`${address} was silent for ${CONNECT_MS} ms`)));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.setTimeout(0);
      const session = connectHttp2(`https://${address}`, { createConnection: () => socket });
      // A call that is on its way fails by itself.
      session.on('error', () => undefined);
      resolve({
        enrol: (attempt) => {
          const request = create(EnrolRequestSchema, { ...attempt, facts: FACTS });
          return call(session, 'Enrol', toBinary(EnrolRequestSchema, request), EnrolResponseSchema);
        },
        renew: (renewal) => {
          const request = create(RenewRequestSchema, renewal);
          return call(session, 'Renew', toBinary(RenewRequestSchema, request), RenewResponseSchema);
        },
        [Symbol.dispose]: () => session.destroy(),
      });
    });
  });
}

function call<Answer extends DescMessage>(
  session: ClientHttp2Session,
  method: string,
  message: Uint8Array,
  schema: Answer,
): Promise<MessageShape<Answer> | Refused> {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const head = {
    ':method': 'POST',
    ':path': `${SERVICE}/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  };
  return new Promise((resolve, reject) => {
    const stream = session.request(head);
    const chunks: Buffer[] = [];
    let ending: IncomingHttpHeaders = {};
    stream.setTimeout(ANSWER_MS, () => stream.destroy(new Error(`no answer in ${ANSWER_MS} ms`)));
    // gRPC's status is in the trailers, or in the head if nothing else came; our own code is beside it.
    stream.on('response', (headers) => (ending = headers));
    stream.on('trailers', (trailers) => (ending = trailers));
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('error', reject);
    stream.once('close', () => {
      if (ending['grpc-status'] === '0') resolve(fromBinary(schema, Buffer.concat(chunks).subarray(5)));
      else resolve(refusalOf(ending));
    });
    stream.end(Buffer.concat([prefix, message]));
  });
}

function refusalOf(ending: IncomingHttpHeaders): Refused {
  const { 'fairlead-code': code, 'grpc-status': status, 'grpc-message': message } = ending;
  return { code: String(code ?? `gRPC ${String(status)}`), message: decodeURIComponent(String(message ?? '')) };
}

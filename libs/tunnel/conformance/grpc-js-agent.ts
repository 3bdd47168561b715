import { fromBinary, toBinary, create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { Client, credentials, type ClientDuplexStream, type ServiceError } from '@grpc/grpc-js';
import {
  ControlRequestSchema,
  ControlResponseSchema,
  DiscoverRequestSchema,
  DiscoverResponseSchema,
  FetchBundleRequestSchema,
  FetchBundleResponseSchema,
  FrameSchema,
  type ControlRequest,
  type ControlResponse,
  type DiscoverResponse,
  type FetchBundleResponse,
  type Frame,
} from '@fairlead/proto';
import { eventually } from '@fairlead/testing';
import type { GatewaySubject } from './gateway-subject.js';
import { hello } from './scripted-agent.js';

const SERVICE = '/fairlead.link.v1.AgentLinkService';
const DATA_BYTES = 32 * 1024;

type FrameInit = Frame['kind'];
type Serve = (tunnel: GrpcJsTunnel) => void;

/** What a stock gRPC client makes of the agent's part: no code of the product but the generated messages. */
export class GrpcJsAgent implements Disposable {
  readonly #client: Client;
  readonly #control: ClientDuplexStream<ControlRequest, ControlResponse>;
  readonly heard: ControlResponse['message'][] = [];
  readonly #serve: Serve;

  private constructor(client: Client, clusterId: string, serve: Serve) {
    this.#client = client;
    this.#serve = serve;
    this.#control = client.makeBidiStreamRequest(
      `${SERVICE}/Control`,
      serializer(ControlRequestSchema),
      parser(ControlResponseSchema),
    );
    this.#control.on('error', () => undefined);
    this.#control.on('data', ({ message }: ControlResponse) => {
      this.heard.push(message);
      if (message.case !== 'openTunnels') return;
      for (let i = 0; i < message.value.count; i += 1) this.park();
    });
    this.#control.write(create(ControlRequestSchema, { message: hello(clusterId) }));
  }

  /** Linked, with one tunnel parked; every tunnel that is opened goes to `serve`. */
  static async link({ link, rootsPem, agent, clusterId }: GatewaySubject, serve: Serve): Promise<GrpcJsAgent> {
    const roots = Buffer.from(rootsPem.join('\n'));
    const [key, chain] = [Buffer.from(agent.keyPem), Buffer.from(agent.chainPem)];
    // The chain is verified; the name is a SPIFFE identity, which grpc-js does not know.
    const tls = credentials.createSsl(roots, key, chain, { checkServerIdentity: () => undefined });
    const linked = new GrpcJsAgent(new Client(link, tls), clusterId, serve);
    await eventually(() => {
      if (linked.heard[0]?.case !== 'welcome') throw new Error('no Welcome');
    });
    linked.park();
    return linked;
  }

  discover(): Promise<DiscoverResponse> {
    return this.#ask('Discover', DiscoverRequestSchema, create(DiscoverRequestSchema), DiscoverResponseSchema);
  }

  fetchBundle(digest: string, offset: number): Promise<FetchBundleResponse> {
    const request = create(FetchBundleRequestSchema, { digest, offset });
    return this.#ask('FetchBundle', FetchBundleRequestSchema, request, FetchBundleResponseSchema);
  }

  report(json: Uint8Array): void {
    this.#control.write(create(ControlRequestSchema, { message: { case: 'report', value: { json } } }));
  }

  #ask<In extends DescMessage, Out extends DescMessage>(
    method: string,
    input: In,
    request: MessageShape<In>,
    output: Out,
  ): Promise<MessageShape<Out>> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        `${SERVICE}/${method}`,
        serializer(input),
        parser(output),
        request,
        (error: ServiceError | null, answer?: MessageShape<Out>) => (answer ? resolve(answer) : reject(error as Error)),
      );
    });
  }

  park(): void {
    const call = this.#client.makeBidiStreamRequest(`${SERVICE}/Tunnel`, serializer(FrameSchema), parser(FrameSchema));
    const tunnel = new GrpcJsTunnel(call);
    call.once('data', () => this.#serve(tunnel));
  }

  [Symbol.dispose](): void {
    this.#control.cancel();
    this.#client.close();
  }
}

/** One Tunnel call. */
export class GrpcJsTunnel {
  readonly call: ClientDuplexStream<Frame, Frame>;
  readonly frames: FrameInit[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #status: Promise<number>;

  constructor(call: ClientDuplexStream<Frame, Frame>) {
    this.call = call;
    this.#status = new Promise((resolve) => call.once('status', ({ code }) => resolve(code)));
    call.on('error', () => undefined);
    call.on('data', ({ kind }: Frame) => {
      this.frames.push(kind);
      for (const watch of this.#watchers) watch();
    });
  }

  send(kind: FrameInit): void {
    this.call.write(create(FrameSchema, { kind }));
  }

  accept(): void {
    this.send({ case: 'opened', value: { $typeName: 'fairlead.link.v1.Opened' } });
  }

  /** Writes all of it and Eof behind it, and nothing about whether anybody reads. */
  finish(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += DATA_BYTES) {
      this.send({ case: 'data', value: bytes.subarray(at, at + DATA_BYTES) });
    }
    this.send({ case: 'eof', value: { $typeName: 'fairlead.link.v1.Eof' } });
  }

  /** Everything until the opener's Eof. */
  received(): Promise<Buffer> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.frames.some(({ case: kind }) => kind === 'eof')) return;
        this.#watchers.delete(look);
        resolve(Buffer.concat(this.frames.map((frame) => (frame.case === 'data' ? frame.value : Buffer.alloc(0)))));
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Half-closes the call and resolves with its gRPC status. */
  close(): Promise<number> {
    this.call.end();
    return this.#status;
  }
}

function serializer<D extends DescMessage>(schema: D): (message: MessageShape<D>) => Buffer {
  return (message) => Buffer.from(toBinary(schema, message));
}

function parser<D extends DescMessage>(schema: D): (bytes: Buffer) => MessageShape<D> {
  return (bytes) => fromBinary(schema, bytes);
}

import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream, type SessionOptions } from 'node:http2';
import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { ControlRequestSchema, ControlResponseSchema, HelloSchema, type ControlResponse } from '@fairlead/proto';
import { eventually } from '@fairlead/testing';
import type { GatewaySubject, KeyAndChain } from './gateway-subject.js';
import { TunnelScript } from './tunnel-script.js';
import { MessageReader, grpcMessage } from './wire.js';

type ControlInit = NonNullable<MessageInitShape<typeof ControlRequestSchema>['message']>;
type HelloInit = MessageInitShape<typeof HelloSchema>;
type ControlKind = ControlResponse['message'];

const SERVICE = '/fairlead.link.v1.AgentLinkService';

/** A Control call of which the test decides every byte. */
export interface ControlScript {
  readonly stream: ClientHttp2Stream;
  readonly heard: ControlKind[];
  /** How the call ended: gRPC's status and our own code; null while it goes on. */
  outcome: { status: number; code: string } | null;
  say(message: ControlInit): void;
  /** Resolves once the gateway said Welcome; rejects as soon as it said anything else, or refused the call. */
  welcome(): Promise<void>;
  refusal(): Promise<{ status: number; code: string }>;
}

/** An agent without any judgement: one TLS and HTTP/2 session to the gateway, and calls as told. */
export class ScriptedAgent implements AsyncDisposable {
  readonly http2: ClientHttp2Session;

  private constructor(http2: ClientHttp2Session) {
    this.http2 = http2;
  }

  static async dial(
    { link, rootsPem, agent }: GatewaySubject,
    identity: KeyAndChain | null = agent,
  ): Promise<ScriptedAgent> {
    return new ScriptedAgent(await dialHttp2(link, rootsPem, identity));
  }

  /** Dials, says Hello, and has been welcomed. */
  static async linked(subject: GatewaySubject, changes: HelloInit = {}): Promise<LinkedAgent> {
    const agent = await ScriptedAgent.dial(subject);
    const control = agent.control();
    control.say(hello(subject.clusterId, changes));
    await control.welcome();
    return { agent, control, [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() };
  }

  call(method: string, headers: Record<string, string> = {}): ClientHttp2Stream {
    return callOn(this.http2, `${SERVICE}/${method}`, headers);
  }

  /** A Tunnel call; parked, if the gateway takes it. */
  park(): TunnelScript {
    return new TunnelScript(this.call('Tunnel'));
  }

  control(): ControlScript {
    return scriptControl(this.call('Control'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.http2.destroyed) return;
    const closed = once(this.http2, 'close');
    this.http2.destroy();
    await closed;
  }
}

export interface LinkedAgent extends AsyncDisposable {
  readonly agent: ScriptedAgent;
  readonly control: ControlScript;
}

/** A Hello as this version of the protocol has it. */
export function hello(clusterId: string, changes: HelloInit = {}): ControlInit {
  const agentInstance = `scripted-${Math.random()}`;
  return { case: 'hello', value: { agentInstance, protocolVersion: 1, clusterId, maxTunnels: 64, ...changes } };
}

export const controlMessage = (message: ControlInit): Buffer =>
  grpcMessage(toBinary(ControlRequestSchema, create(ControlRequestSchema, { message })));

export async function dialHttp2(
  address: string,
  rootsPem: readonly string[],
  identity: KeyAndChain | null,
  options: SessionOptions = {},
): Promise<ClientHttp2Session> {
  const http2 = connect(`https://${address}`, {
    ...options,
    ca: [...rootsPem],
    // The chain is verified; the name is a SPIFFE identity, which Node does not know.
    checkServerIdentity: () => undefined,
    ...(identity ? { key: identity.keyPem, cert: identity.chainPem } : {}),
  });
  await once(http2, 'connect');
  http2.on('error', () => undefined);
  return http2;
}

export function callOn(
  http2: ClientHttp2Session,
  path: string,
  headers: Record<string, string> = {},
): ClientHttp2Stream {
  return http2.request(
    { ':method': 'POST', ':path': path, 'content-type': 'application/grpc+proto', te: 'trailers', ...headers },
    { endStream: false },
  );
}

function scriptControl(stream: ClientHttp2Stream): ControlScript {
  const reader = new MessageReader();
  const script: ControlScript = {
    stream,
    heard: [],
    outcome: null,
    say: (message) => void stream.write(controlMessage(message)),
    welcome: async () => {
      await eventually(() => requireWord(script), { intervalMs: 5 });
      requireWelcome(script);
    },
    refusal: () =>
      eventually(
        () => {
          if (!script.outcome) throw new Error('the call goes on');
          return script.outcome;
        },
        { timeoutMs: 20_000, intervalMs: 5 },
      ),
  };
  const onHeaders = (headers: Record<string, string | string[] | undefined>): void => {
    if (headers['grpc-status'] === undefined) return;
    script.outcome = { status: Number(headers['grpc-status']), code: String(headers['fairlead-code'] ?? '') };
  };
  stream.on('response', onHeaders);
  stream.on('trailers', onHeaders);
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => {
    for (const message of reader.push(chunk)) script.heard.push(fromBinary(ControlResponseSchema, message).message);
  });
  return script;
}

/** What is refused is not welcomed any more, however long one waits. */
function requireWord({ heard, outcome }: ControlScript): void {
  if (!heard[0] && !outcome) throw new Error('the gateway said nothing');
}

function requireWelcome({ heard, outcome }: ControlScript): void {
  if (heard[0]?.case !== 'welcome') throw new Error(`no Welcome: ${JSON.stringify(outcome)}`);
}

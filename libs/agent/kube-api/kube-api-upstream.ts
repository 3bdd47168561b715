import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext } from 'node:tls';
import { FairleadError } from '@fairlead/errors';
import {
  fromServer,
  fromTunnel,
  headerPairs,
  impersonationHeaders,
  readUpgrade,
  relayAnswer,
  requestHop,
  requestUpgrade,
  switchProtocols,
  tellUpstreamMs,
  upgradeHeaders,
  type BodyFraming,
  type TunnelIdentity,
  type UpstreamAnswer,
  type UpstreamRequest,
} from '@fairlead/kube-http';
import { bridge } from '@fairlead/tunnel/link';
import { Http2Connections } from './http2-connections.js';
import { ImpersonationRights } from './impersonation-rights.js';
import { MAX_HEADER_BYTES, type KubeApiTarget } from './kube-api-target.js';
import { namedByExtra } from './named-by-extra.js';
import { readAnswer, withHeaders, type SentBody } from './self-review.js';

/** What a request is sent on as. */
export interface Sent {
  readonly identity: TunnelIdentity;
  readonly body: SentBody;
  /** In the place of the request's own. */
  readonly ownHeaders: readonly string[];
  /** What its answer is passed on as; absent: as it is. */
  readonly rewrite?: (answer: string) => string;
}

export interface Sending extends Sent {
  /** All that the kube-apiserver is sent. */
  readonly headers: readonly string[];
}

/** How a request went that the kube-apiserver answered. */
export interface Carried {
  readonly status: number;
  /** One that broke off is not. */
  readonly whole: boolean;
}

/** The opener of a tunnel that is to switch protocols. */
export interface UpgradingOpener {
  readonly tunnel: Duplex;
  /** What came behind the request's head. */
  readonly early: Buffer;
}

/**
 * The way from the agent to its kube-apiserver: requests by HTTP/2 where that is spoken, whose connections all identities share, otherwise by connections of HTTP/1.1 that belong to
 * one tunnel, and so to one identity; upgrades each by a connection of their own. Rejects with TARGET_UNREACHABLE, and with what the agent itself lacks.
 */
export class KubeApiUpstream {
  readonly #target: KubeApiTarget;
  /** Made once: the memory of one that is made for each connection is not seen by the collector, and stays for long. */
  readonly #tls: { readonly secureContext: SecureContext };
  readonly #http2: Http2Connections;
  readonly #rights: ImpersonationRights;
  readonly #http1 = new WeakMap<Duplex, Agent>();

  constructor(target: KubeApiTarget) {
    this.#target = target;
    const secureContext = createSecureContext({ ca: target.caPem, minVersion: 'TLSv1.2' });
    this.#tls = { secureContext };
    this.#http2 = new Http2Connections({ ...target, secureContext }, () => performance.now());
    this.#rights = new ImpersonationRights(target, () => performance.now());
  }

  close(): void {
    this.#http2.close();
  }

  /** All that the kube-apiserver is to be sent: without headers of one hop, and as nobody but the identity. */
  async headersOf(incoming: IncomingMessage, { identity, ownHeaders }: Sent): Promise<string[]> {
    const { host, port, userNames } = this.#target;
    const token = await this.#target.token();
    const unchanged = without('host', fromTunnel(incoming.rawHeaders));
    const passed = ownHeaders.length === 0 ? unchanged : withHeaders(unchanged, ownHeaders);
    const own = ['Host', `${host.includes(':') ? `[${host}]` : host}:${port}`, 'Authorization', `Bearer ${token}`];
    return [...passed, ...own, ...impersonationHeaders(userNames === 'extra' ? namedByExtra(identity) : identity)];
  }

  /** Resolves when the answer was passed on or broke off. */
  async forward(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { headers, body, identity, rewrite }: Sending,
  ): Promise<Carried> {
    const { framing } = body;
    const isHttp2 = await this.#http2.isSpoken().catch((error: unknown) => {
      throw this.#unreachable(error as Error);
    });
    const beganMs = performance.now();
    const { answer, upstream } = await requestHop<UpstreamRequest>({
      ...body,
      server: 'the kube-apiserver',
      begin: (fresh) => {
        const begun = isHttp2
          ? this.#http2.request({ incoming, headers, hasBody: framing !== 'none', fresh })
          : this.#overHttp1(incoming, headers, framing, fresh);
        outgoing.once('close', () => void begun.destroy());
        begun.once('close', () => {
          // What the kube-apiserver did not take of the request nobody does, and the gateway must not wait for that.
          body.incoming.unpipe(begun);
          body.incoming.resume();
        });
        return begun;
      },
      awaited: () => !outgoing.headersSent && !outgoing.destroyed,
      failureOf: (error) => this.#unreachable(error),
    });
    const tookMs = performance.now() - beganMs;
    try {
      await this.#explainRefusal(identity, answer);
      if (rewrite && answer.statusCode === 201) return await rewriteAnswer(answer, outgoing, rewrite);
      return await passAnswer(answer, outgoing, tellUpstreamMs(tookMs));
    } catch (error) {
      upstream.destroy();
      throw error;
    }
  }

  /** Resolves when both ends have switched and are done, or as `forward`. */
  async upgrade(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { tunnel, early }: UpgradingOpener,
    { headers, identity }: Sending,
  ): Promise<Carried> {
    const upgrade = readUpgrade(incoming);
    const agent = new Agent({ ...this.#tls, keepAlive: false });
    const upstream = this.#request(incoming, agent, [...headers, ...upgradeHeaders(upgrade)]);
    const onOpenerGone = (): void => void upstream.destroy();
    tunnel.once('close', onOpenerGone);
    const answered = await requestUpgrade(upstream, upgrade, 'the kube-apiserver').catch((error: unknown) => {
      throw error instanceof FairleadError ? error : this.#unreachable(error as Error);
    });
    if (answered.kind === 'answered') {
      await this.#explainRefusal(identity, answered.answer);
      return passAnswer(answered.answer, outgoing);
    }
    tunnel.off('close', onOpenerGone);
    const { connection } = answered;
    switchProtocols(outgoing, tunnel, upgrade, answered.headers);
    if (early.length > 0) tunnel.unshift(early);
    connection.allowHalfOpen = true;
    const { cause } = await bridge(connection, tunnel, () => void connection.destroy());
    return { status: 101, whole: cause === 'COMPLETE' };
  }

  /** Throws in place of a 403 that was meant for the agent and not for the user. The answer waits meanwhile, unread. */
  async #explainRefusal(identity: TunnelIdentity, answer: UpstreamAnswer): Promise<void> {
    if (answer.statusCode !== 403) return;
    answer.on('error', () => undefined);
    try {
      await this.#rights.assertHeld(identity);
    } catch (error) {
      answer.destroy();
      throw error;
    }
    if (answer.destroyed) throw new FairleadError('TUNNEL_RESET', 'the kube-apiserver broke off its answer');
  }

  #overHttp1(
    incoming: IncomingMessage,
    headers: readonly string[],
    framing: BodyFraming,
    fresh: boolean,
  ): ClientRequest {
    const tunnel = incoming.socket;
    const kept = this.#http1.get(tunnel) ?? new Agent({ ...this.#tls, keepAlive: true });
    if (!this.#http1.has(tunnel)) {
      this.#http1.set(tunnel, kept);
      tunnel.once('close', () => kept.destroy());
    }
    const agent = fresh ? new Agent({ ...this.#tls, keepAlive: false }) : kept;
    const chunked = framing === 'chunked' ? ['Transfer-Encoding', 'chunked'] : [];
    return this.#request(incoming, agent, [...headers, ...chunked, 'Connection', 'keep-alive']);
  }

  #request({ method, url }: IncomingMessage, agent: Agent, headers: readonly string[]): ClientRequest {
    const { host, port } = this.#target;
    const [path, maxHeaderSize] = [url, MAX_HEADER_BYTES];
    return request({ agent, host, port, method, path, headers: [...headers], setDefaultHeaders: false, maxHeaderSize });
  }

  #unreachable(error: Error): FairleadError {
    const { host, port } = this.#target;
    return new FairleadError('TARGET_UNREACHABLE', `the agent cannot reach the kube-apiserver at ${host}:${port}`, {
      cause: error,
    });
  }
}

/** Resolves when the answer was passed on or broke off; then the gateway's side is broken off too, never ended cleanly. */
async function passAnswer(
  answer: UpstreamAnswer,
  outgoing: ServerResponse,
  own: readonly string[] = [],
): Promise<Carried> {
  const status = answer.statusCode ?? 502;
  outgoing.writeHead(status, [...fromServer(answer.rawHeaders), ...own]);
  return { status, whole: await relayAnswer(answer, outgoing, () => void outgoing.destroy()) };
}

/** An answer that is read whole, and passed on as something else. */
async function rewriteAnswer(
  answer: UpstreamAnswer,
  outgoing: ServerResponse,
  rewrite: (answer: string) => string,
): Promise<Carried> {
  const body = rewrite(await readAnswer(answer));
  outgoing.writeHead(201, { 'content-type': 'application/json' }).end(body);
  return { status: 201, whole: true };
}

/** Headers but those of this name. */
export const without = (name: string, raw: readonly string[]): string[] =>
  [...headerPairs(raw)].filter(([each]) => each.toLowerCase() !== name).flat();

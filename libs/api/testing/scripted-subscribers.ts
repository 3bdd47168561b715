import {
  subscriberRpc,
  webhookRpc,
  type ReplayFrom,
  type Subscriber,
  type WebhookSubscription,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';

type S = typeof subscriberRpc;
type W = typeof webhookRpc;

/** The subscribers of every tenant; nobody is told anything. */
@Controller()
export class SubscribersScript {
  /** What was asked for. */
  readonly replays: ReplayFrom[] = [];
  readonly #known = new Map<string, Subscriber>();

  @RpcHandler(subscriberRpc.createSubscriber)
  async create({ tenantId, input }: RpcRequest<S['createSubscriber']>): RpcResult<S['createSubscriber']> {
    const { name, kind, types, publicKey, url } = input.subscriber;
    const key = `${tenantId} ${name}`;
    if (this.#known.has(key)) throw new FairleadError('ALREADY_EXISTS', `there is a subscriber ${name} already`);
    const id = crypto.randomUUID();
    const nats = publicKey === undefined ? null : natsOf(id, publicKey);
    const webhook = url === undefined ? null : webhookOf(url);
    const made = { id, name, kind, types, createdAt: new Date().toISOString(), nats, webhook, revision: 'made' };
    this.#known.set(key, made);
    return { ...made, secret: webhook ? `whsec_${'A'.repeat(43)}=` : null };
  }

  @RpcHandler(subscriberRpc.listSubscribers)
  async list({ tenantId }: RpcRequest<S['listSubscribers']>): RpcResult<S['listSubscribers']> {
    const mine = [...this.#known].filter(([key]) => key.startsWith(`${tenantId} `));
    return { subscribers: mine.map(([, each]) => each).sort((a, b) => (a.name < b.name ? -1 : 1)) };
  }

  @RpcHandler(subscriberRpc.getSubscriber)
  async get({ tenantId, input: { name } }: RpcRequest<S['getSubscriber']>): RpcResult<S['getSubscriber']> {
    return this.#of(tenantId, name);
  }

  @RpcHandler(subscriberRpc.removeSubscriber)
  async remove({ tenantId, input: { name } }: RpcRequest<S['removeSubscriber']>): RpcResult<S['removeSubscriber']> {
    this.#of(tenantId, name);
    this.#known.delete(`${tenantId} ${name}`);
    return {};
  }

  @RpcHandler(subscriberRpc.rotateSubscriber)
  async rotate({ tenantId, input }: RpcRequest<S['rotateSubscriber']>): RpcResult<S['rotateSubscriber']> {
    const known = this.#of(tenantId, input.name);
    const { publicKey } = input;
    const nats = known.nats && { ...known.nats, publicKey, inboxPrefix: `_INBOX_${publicKey}` };
    const rotated = { ...known, nats, revision: 'rotated' };
    this.#known.set(`${tenantId} ${input.name}`, rotated);
    return rotated;
  }

  @RpcHandler(subscriberRpc.replaySubscriber)
  async replay({ tenantId, input }: RpcRequest<S['replaySubscriber']>): RpcResult<S['replaySubscriber']> {
    this.replays.push(input.from);
    return this.#of(tenantId, input.name);
  }

  @RpcHandler(webhookRpc.rotateWebhookSecret)
  async rotateSecret({ tenantId, input }: RpcRequest<W['rotateWebhookSecret']>): RpcResult<W['rotateWebhookSecret']> {
    this.#of(tenantId, input.name);
    const previousUntil = new Date(Date.now() + input.overlapHours * 3_600_000).toISOString();
    return { secret: `whsec_${'B'.repeat(43)}=`, previousUntil };
  }

  @RpcHandler(webhookRpc.enableWebhook)
  async enable({ tenantId, input: { name } }: RpcRequest<W['enableWebhook']>): RpcResult<W['enableWebhook']> {
    return this.#of(tenantId, name);
  }

  @RpcHandler(webhookRpc.listDeadLetters)
  async listDead({ tenantId, input }: RpcRequest<W['listDeadLetters']>): RpcResult<W['listDeadLetters']> {
    this.#of(tenantId, input.name);
    const lastAt = new Date().toISOString();
    return { deadLetters: [{ number: 7, attempts: 10, status: 503, error: 'it answered 503', lastAt }] };
  }

  @RpcHandler(webhookRpc.redeliver)
  async redeliver({ tenantId, input }: RpcRequest<W['redeliver']>): RpcResult<W['redeliver']> {
    this.#of(tenantId, input.name);
    return { count: input.numbers?.length ?? 1 };
  }

  #of(tenantId: string, name: string): Subscriber {
    const known = this.#known.get(`${tenantId} ${name}`);
    if (!known) throw new FairleadError('NOT_FOUND', `there is no subscriber named ${name}`);
    return known;
  }
}

function natsOf(id: string, publicKey: string): NonNullable<Subscriber['nats']> {
  return { publicKey, stream: 'S', consumer: `c-${id}`, apiPrefix: 'P', inboxPrefix: `_INBOX_${publicKey}` };
}

function webhookOf(url: string): WebhookSubscription {
  const fine = { state: 'active', disabledAt: null, disabledFor: null, lastError: null, lastErrorAt: null } as const;
  return { ...fine, origin: new URL(url).origin, cursor: 0, behind: 0, pending: 0, dead: 1, deliveredAt: null };
}

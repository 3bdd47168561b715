import { subscriberRpc, type ReplayFrom, type Subscriber } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';

type S = typeof subscriberRpc;

/** The subscribers of every tenant; nobody is told anything. */
@Controller()
export class SubscribersScript {
  /** What was asked for. */
  readonly replays: ReplayFrom[] = [];
  readonly #known = new Map<string, Subscriber>();

  @RpcHandler(subscriberRpc.createSubscriber)
  async create({ tenantId, input }: RpcRequest<S['createSubscriber']>): RpcResult<S['createSubscriber']> {
    const { name, kind, types, publicKey = '' } = input.subscriber;
    const key = `${tenantId} ${name}`;
    if (this.#known.has(key)) throw new FairleadError('ALREADY_EXISTS', `there is a subscriber ${name} already`);
    const id = crypto.randomUUID();
    const nats = { publicKey, stream: 'S', consumer: `c-${id}`, apiPrefix: 'P', inboxPrefix: `_INBOX_${publicKey}` };
    const made = { id, name, kind, types, createdAt: new Date().toISOString(), nats, revision: 'made' };
    this.#known.set(key, made);
    return made;
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

  #of(tenantId: string, name: string): Subscriber {
    const known = this.#known.get(`${tenantId} ${name}`);
    if (!known) throw new FairleadError('NOT_FOUND', `there is no subscriber named ${name}`);
    return known;
  }
}

import { subscriberRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Subscribers } from './subscribers.js';

type Asked<Method extends keyof typeof subscriberRpc> = RpcRequest<(typeof subscriberRpc)[Method]>;

@Controller()
export class SubscribersController {
  constructor(private readonly subscribers: Subscribers) {}

  @RpcHandler(subscriberRpc.createSubscriber)
  async create({ caller, tenantId, input: { by, subscriber } }: Asked<'createSubscriber'>) {
    return this.subscribers.create(caller, tenantId, by, subscriber);
  }

  @RpcHandler(subscriberRpc.listSubscribers)
  async list({ tenantId, input: { after } }: Asked<'listSubscribers'>) {
    return this.subscribers.list(tenantId, after);
  }

  @RpcHandler(subscriberRpc.getSubscriber)
  async get({ tenantId, input: { name } }: Asked<'getSubscriber'>) {
    return this.subscribers.get(tenantId, name);
  }

  @RpcHandler(subscriberRpc.removeSubscriber)
  async remove({ caller, tenantId, input: { name, by, ifRevision } }: Asked<'removeSubscriber'>) {
    await this.subscribers.remove({ caller, tenantId, name, by }, { ifRevision });
    return {};
  }

  @RpcHandler(subscriberRpc.rotateSubscriber)
  async rotate({ caller, tenantId, input: { name, publicKey, by, ifRevision } }: Asked<'rotateSubscriber'>) {
    return this.subscribers.rotate({ caller, tenantId, name, by }, publicKey, { ifRevision });
  }

  @RpcHandler(subscriberRpc.replaySubscriber)
  async replay({ caller, tenantId, input: { name, from, by } }: Asked<'replaySubscriber'>) {
    return this.subscribers.replay({ caller, tenantId, name, by }, from);
  }
}

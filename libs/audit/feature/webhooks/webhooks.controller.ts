import { webhookRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Subscribers } from '../subscribers.js';
import { Webhooks } from './webhooks.js';

type Request<Method extends keyof typeof webhookRpc> = RpcRequest<(typeof webhookRpc)[Method]>;

@Controller()
export class WebhooksController {
  constructor(
    private readonly webhooks: Webhooks,
    private readonly subscribers: Subscribers,
  ) {}

  @RpcHandler(webhookRpc.rotateWebhookSecret)
  async rotate({ caller, tenantId, input: { name, by, overlapHours } }: Request<'rotateWebhookSecret'>) {
    return this.webhooks.rotate({ caller, tenantId, name, by }, overlapHours);
  }

  @RpcHandler(webhookRpc.enableWebhook)
  async enable({ caller, tenantId, input: { name, by } }: Request<'enableWebhook'>) {
    await this.webhooks.enable({ caller, tenantId, name, by });
    return this.subscribers.get(tenantId, name);
  }

  @RpcHandler(webhookRpc.listDeadLetters)
  async listDead({ tenantId, input: { name, after } }: Request<'listDeadLetters'>) {
    return this.webhooks.listDead(tenantId, name, after);
  }

  @RpcHandler(webhookRpc.redeliver)
  async redeliver({ caller, tenantId, input: { name, by, numbers } }: Request<'redeliver'>) {
    return { count: await this.webhooks.redeliver({ caller, tenantId, name, by }, numbers) };
  }
}

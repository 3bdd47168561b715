import { webhookKeysRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { WebhookSecrets } from './webhook-secrets.js';

type Asked<Method extends keyof typeof webhookKeysRpc> = RpcRequest<(typeof webhookKeysRpc)[Method]>;

@Controller()
export class WebhookSecretsController {
  constructor(private readonly secrets: WebhookSecrets) {}

  @RpcHandler(webhookKeysRpc.createWebhookSecret)
  async create({ tenantId, input }: Asked<'createWebhookSecret'>) {
    return this.secrets.create(tenantId, input.subscriberId);
  }

  @RpcHandler(webhookKeysRpc.rotateWebhookSecret)
  async rotate({ tenantId, input }: Asked<'rotateWebhookSecret'>) {
    return this.secrets.rotate(tenantId, input.subscriberId, input.overlapHours);
  }

  @RpcHandler(webhookKeysRpc.destroyWebhookSecrets)
  async destroy({ tenantId, input }: Asked<'destroyWebhookSecrets'>) {
    await this.secrets.destroy(tenantId, input.subscriberId);
    return {};
  }

  @RpcHandler(webhookKeysRpc.listWebhookSecrets)
  async list({ input }: Asked<'listWebhookSecrets'>) {
    return { secrets: await this.secrets.list(input.after) };
  }

  @RpcHandler(webhookKeysRpc.signWebhook)
  async sign({ tenantId, input: { subscriberId, ...message } }: Asked<'signWebhook'>) {
    return { signature: await this.secrets.sign(tenantId, subscriberId, message) };
  }
}

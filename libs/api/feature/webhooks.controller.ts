import { webhookRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** What is done about webhooks. */
@Controller()
export class WebhooksController {
  constructor(private readonly backend: Backend) {}

  @Serve('rotateSubscriberSecret')
  rotate(@Asked() { tenantId, actor: by, params, body }: Call<'rotateSubscriberSecret'>) {
    return this.backend.write(webhookRpc.rotateWebhookSecret, tenantId, { ...params, ...body, by });
  }

  @Serve('enableSubscriber')
  enable(@Asked() { tenantId, actor: by, params }: Call<'enableSubscriber'>) {
    return this.backend.write(webhookRpc.enableWebhook, tenantId, { ...params, by });
  }

  @Serve('listDeadLetters')
  list(@Asked() { tenantId, params, query }: Call<'listDeadLetters'>) {
    return this.backend.read(webhookRpc.listDeadLetters, tenantId, { ...params, ...query });
  }

  @Serve('redeliverDeadLetters')
  redeliver(@Asked() { tenantId, actor: by, params, body }: Call<'redeliverDeadLetters'>) {
    return this.backend.write(webhookRpc.redeliver, tenantId, { ...params, ...body, by });
  }
}

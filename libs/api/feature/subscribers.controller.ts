import { subscriberRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { IfRevision, type Expected } from '../http/revisions.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** Who outside is told of events. */
@Controller()
export class SubscribersController {
  constructor(private readonly backend: Backend) {}

  @Serve('createSubscriber')
  create(@Asked() { tenantId, actor: by, body: subscriber }: Call<'createSubscriber'>) {
    return this.backend.write(subscriberRpc.createSubscriber, tenantId, { subscriber, by });
  }

  @Serve('listSubscribers')
  list(@Asked() { tenantId, query }: Call<'listSubscribers'>) {
    return this.backend.read(subscriberRpc.listSubscribers, tenantId, query);
  }

  @Serve('getSubscriber')
  get(@Asked() { tenantId, params }: Call<'getSubscriber'>) {
    return this.backend.read(subscriberRpc.getSubscriber, tenantId, params);
  }

  @Serve('removeSubscriber')
  async remove(@Asked() { tenantId, actor: by, params }: Call<'removeSubscriber'>, @IfRevision() ifRevision: Expected) {
    await this.backend.write(subscriberRpc.removeSubscriber, tenantId, { ...params, by, ifRevision });
  }

  @Serve('rotateSubscriber')
  rotate(@Asked() { tenantId, actor: by, params, body }: Call<'rotateSubscriber'>, @IfRevision() ifRevision: Expected) {
    return this.backend.write(subscriberRpc.rotateSubscriber, tenantId, { ...params, ...body, by, ifRevision });
  }

  @Serve('replaySubscriber')
  replay(@Asked() { tenantId, actor: by, params, body }: Call<'replaySubscriber'>) {
    return this.backend.write(subscriberRpc.replaySubscriber, tenantId, { ...params, ...body, by });
  }
}

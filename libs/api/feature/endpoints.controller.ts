import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { IfRevision, type Expected } from '../http/revisions.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** Where agents reach gateways. It belongs to the installation, not to a tenant. */
@Controller()
export class EndpointsController {
  constructor(private readonly backend: Backend) {}

  @Serve('listEndpoints')
  list() {
    return this.backend.read(keysRpc.endpoints, NO_TENANT, {});
  }

  @Serve('putEndpoint')
  put(@Asked() { actor: by, params, body }: Call<'putEndpoint'>, @IfRevision() ifRevision: Expected) {
    return this.backend.write(keysRpc.putEndpoint, NO_TENANT, { ...params, ...body, by, ifRevision });
  }

  @Serve('removeEndpoint')
  remove(@Asked() { actor: by, params }: Call<'removeEndpoint'>, @IfRevision() ifRevision: Expected) {
    return this.backend.write(keysRpc.removeEndpoint, NO_TENANT, { ...params, by, ifRevision });
  }
}

import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** Where agents reach gateways. It belongs to the installation, not to a tenant: whoever administers any says so. */
@Controller()
export class EndpointsController {
  constructor(private readonly backend: Backend) {}

  @Serve('listEndpoints')
  list() {
    return this.backend.read(keysRpc.endpoints, NO_TENANT, {});
  }

  @Serve('putEndpoint')
  put(@Asked() { actor: by, params, body }: Call<'putEndpoint'>) {
    return this.backend.write(keysRpc.putEndpoint, NO_TENANT, { ...params, ...body, by });
  }

  @Serve('removeEndpoint')
  remove(@Asked() { actor: by, params }: Call<'removeEndpoint'>) {
    return this.backend.write(keysRpc.removeEndpoint, NO_TENANT, { ...params, by });
  }
}

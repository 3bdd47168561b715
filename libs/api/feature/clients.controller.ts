import { registrationRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';
import { ServingRoot } from './serving-root.js';
import { ApiSettings } from './settings.js';

@Controller()
export class ClientsController {
  constructor(
    private readonly backend: Backend,
    private readonly servingRoot: ServingRoot,
    private readonly settings: ApiSettings,
  ) {}

  @Serve('createClient')
  async create(@Asked() { tenantId, actor: by, body }: Call<'createClient'>) {
    // First what may fail without a trace: a certificate that nobody receives is recorded all the same.
    const certificateAuthority = await this.servingRoot.pem(tenantId);
    const { client, chain } = await this.backend.write(registrationRpc.createClient, tenantId, { ...body, by });
    return { client, chain, doors: [...this.settings.connectDoors], certificateAuthority };
  }

  @Serve('listClients')
  list(@Asked() { tenantId, query }: Call<'listClients'>) {
    return this.backend.read(registrationRpc.listClients, tenantId, query);
  }

  @Serve('deleteClient')
  async delete(@Asked() { tenantId, actor: by, params }: Call<'deleteClient'>) {
    await this.backend.write(registrationRpc.deleteClient, tenantId, { ...params, by });
  }
}

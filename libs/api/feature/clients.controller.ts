import { registrationRpc, type Principal } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import type { z } from 'zod';
import { operations } from '../contract/operations.js';
import type { CertifiedClient, ClientList, NewClient } from '../contract/schemas.js';
import { CurrentPrincipal, JsonBody, Params, Query, Serve } from '../http/serve.js';
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

  @Serve(operations.createClient)
  async create(
    @CurrentPrincipal() { tenantId }: Principal,
    @JsonBody(operations.createClient) body: z.output<typeof NewClient>,
  ): Promise<CertifiedClient> {
    // First what may fail without a trace: a certificate that nobody receives is recorded all the same.
    const certificateAuthority = await this.servingRoot.pem(tenantId);
    const { client, chain } = await this.backend.write(registrationRpc.createClient, tenantId, body);
    return { client, chain, doors: [...this.settings.connectDoors], certificateAuthority };
  }

  @Serve(operations.listClients)
  list(
    @CurrentPrincipal() { tenantId }: Principal,
    @Query(operations.listClients) page: { after?: string },
  ): Promise<ClientList> {
    return this.backend.read(registrationRpc.listClients, tenantId, page);
  }

  @Serve(operations.deleteClient)
  async delete(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.deleteClient) { name }: { readonly name: string },
  ): Promise<void> {
    await this.backend.write(registrationRpc.deleteClient, tenantId, { name });
  }
}

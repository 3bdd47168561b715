import { TenantQuotas, registrationRpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, serveRpc, type RpcRequest } from '@fairlead/messaging';
import type { SecuredNats } from '@fairlead/messaging/testing';
import { Registry, silentLogger } from '@fairlead/observability';
import { Controller, Module } from '@nestjs/common';

/** Quotas of tenants, as registration would keep them. */
export class KnownTenants extends Map<string, Partial<TenantQuotas>> {}

@Controller()
class TenantsScript {
  constructor(private readonly known: KnownTenants) {}

  @RpcHandler(registrationRpc.getTenant)
  async getTenant({ input: { name } }: RpcRequest<(typeof registrationRpc)['getTenant']>) {
    const quotas = this.known.get(name);
    if (!quotas) throw new FairleadError('NOT_FOUND', `there is no tenant named ${name}`);
    return { name, quotas: TenantQuotas.parse(quotas), createdAt: new Date(0).toISOString(), clusters: 0, clients: 0 };
  }
}

@Module({})
class ScriptModule {}

/** Answers in registration's place, about tenants. */
export async function answeringRegistration(nats: SecuredNats, known: KnownTenants): Promise<AsyncDisposable> {
  const connection = await nats.connect({ role: 'registration', credential: 'registration' });
  const module = {
    module: ScriptModule,
    controllers: [TenantsScript],
    providers: [{ provide: KnownTenants, useValue: known }],
  };
  const answering = { connection, queue: 'registration', logger: silentLogger, registry: new Registry() };
  return serveRpc(module, { ...answering, onForged: () => undefined });
}

import { accessRpc, expectRevision, registrationRpc, revisionOf, type Tenant } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type R = typeof registrationRpc;
type A = typeof accessRpc;

/** Registration, as far as it is about tenants. */
@Controller()
export class TenantsScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(registrationRpc.createTenant)
  async createTenant({ input: { by, name, quotas } }: RpcRequest<R['createTenant']>): RpcResult<R['createTenant']> {
    this.script.actors.push(by);
    if (this.script.tenants.has(name)) throw new FairleadError('ALREADY_EXISTS', `a tenant named ${name} exists`);
    const counts = { clusters: 0, clients: 0 };
    const tenant = { name, quotas, createdAt: new Date().toISOString(), ...counts, revision: revisionOf(quotas) };
    this.script.tenants.set(name, tenant);
    return tenant;
  }

  @RpcHandler(registrationRpc.listTenants)
  async listTenants({ input: { after = '' } }: RpcRequest<R['listTenants']>): RpcResult<R['listTenants']> {
    const left = [...this.script.tenants.values()].filter(({ name, deleted }) => name > after && !deleted);
    const tenants = left.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, this.script.pageSize);
    const next = tenants.at(-1)?.name;
    return tenants.length < left.length && next !== undefined ? { tenants, next } : { tenants };
  }

  @RpcHandler(registrationRpc.getTenant)
  async getTenant({ input: { name } }: RpcRequest<R['getTenant']>): RpcResult<R['getTenant']> {
    return this.#known(name);
  }

  @RpcHandler(registrationRpc.updateTenant)
  async updateTenant({
    input: { by, name, quotas, ifRevision },
  }: RpcRequest<R['updateTenant']>): RpcResult<R['updateTenant']> {
    this.script.actors.push(by);
    const known = this.#known(name);
    expectRevision(`the tenant ${name}`, known.revision, ifRevision);
    const changed = { ...known, quotas, revision: revisionOf(quotas) };
    this.script.tenants.set(name, changed);
    return changed;
  }

  @RpcHandler(registrationRpc.deleteTenant)
  async deleteTenant({ input: { by, name } }: RpcRequest<R['deleteTenant']>): RpcResult<R['deleteTenant']> {
    this.script.actors.push(by);
    const tenant = this.script.tenants.get(name);
    if (!tenant) throw noTenant(name);
    this.script.tenants.set(name, { ...tenant, deleted: true });
    return {};
  }

  #known(name: string): Tenant {
    const tenant = this.script.tenants.get(name);
    if (!tenant || tenant.deleted) throw noTenant(name);
    return tenant;
  }
}

/** The access service, as far as it is about tenants that are no more. */
@Controller()
export class ForgottenTenantsScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(accessRpc.forgetTenant)
  async forgetTenant({ tenantId }: RpcRequest<A['forgetTenant']>): RpcResult<A['forgetTenant']> {
    this.script.forgotten.push(tenantId);
    return {};
  }
}

function noTenant(name: string): FairleadError {
  return new FairleadError('NOT_FOUND', `there is no tenant named ${name}`);
}

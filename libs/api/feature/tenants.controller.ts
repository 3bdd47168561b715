import { NO_TENANT, accessRpc, gitKeysRpc, gitopsRpc, registrationRpc, subscriberRpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Controller } from '@nestjs/common';
import { IfRevision, type Expected } from '../http/revisions.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** Owners of clusters. */
@Controller()
export class TenantsController {
  constructor(private readonly backend: Backend) {}

  @Serve('createTenant')
  create(@Asked() { actor: by, body }: Call<'createTenant'>) {
    return this.backend.write(registrationRpc.createTenant, NO_TENANT, { ...body, by });
  }

  @Serve('listTenants')
  list(@Asked() { query }: Call<'listTenants'>) {
    return this.backend.read(registrationRpc.listTenants, NO_TENANT, query);
  }

  @Serve('getTenant')
  get(@Asked() { params }: Call<'getTenant'>) {
    return this.backend.read(registrationRpc.getTenant, NO_TENANT, params);
  }

  @Serve('putTenantQuotas')
  setQuotas(@Asked() { actor: by, params, body: quotas }: Call<'putTenantQuotas'>, @IfRevision() ifRevision: Expected) {
    return this.backend.write(registrationRpc.updateTenant, NO_TENANT, { ...params, quotas, by, ifRevision });
  }

  /** Registration first: nothing is added to it from then on. Whoever asks again finishes what broke off after that. */
  @Serve('deleteTenant')
  async delete(@Asked() { actor: by, params: { name } }: Call<'deleteTenant'>) {
    await this.#requireEmpty(name);
    await this.backend.write(registrationRpc.deleteTenant, NO_TENANT, { name, by });
    await this.backend.write(accessRpc.forgetTenant, name, {});
  }

  /** CONFLICT: another service still has something of it; of clusters and clients registration says so itself. */
  async #requireEmpty(tenantId: string): Promise<void> {
    const { backend } = this;
    const [{ hosts }, { repositories }, { bundles }, { assignments }, { subscribers }] = await Promise.all([
      backend.read(gitKeysRpc.listGitHosts, tenantId, {}),
      backend.read(gitopsRpc.listRepositories, tenantId, {}),
      backend.read(gitopsRpc.listBundles, tenantId, {}),
      backend.read(gitopsRpc.listAssignments, tenantId, {}),
      backend.read(subscriberRpc.listSubscribers, tenantId, {}),
    ]);
    const left = Object.entries({ 'Git hosts': hosts, repositories, bundles, assignments, subscribers }).flatMap(
      ([what, { length }]) => (length > 0 ? `${what} (${length})` : []),
    );
    if (left.length > 0) {
      throw new FairleadError('CONFLICT', `the tenant ${tenantId} still has ${left.join(', ')}; delete them first`);
    }
  }
}

import { accessRpc, type Principal } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** What is granted to whom, and what somebody asks for. */
@Controller()
export class GrantsController {
  constructor(private readonly backend: Backend) {}

  @Serve('createGrant')
  create(@Asked() { tenantId, actor: by, body }: Call<'createGrant'>) {
    return this.backend.write(accessRpc.createGrant, tenantId, { ...body, by });
  }

  @Serve('listGrants')
  async list(@Asked() { tenantId, query }: Call<'listGrants'>) {
    const { items: grants, next } = await this.backend.read(accessRpc.listGrants, tenantId, query);
    return { grants, next };
  }

  @Serve('getGrant')
  get(@Asked() { tenantId, params }: Call<'getGrant'>) {
    return this.backend.read(accessRpc.getGrant, tenantId, params);
  }

  @Serve('deleteGrant')
  async delete(@Asked() { tenantId, actor: by, params }: Call<'deleteGrant'>) {
    await this.backend.write(accessRpc.deleteGrant, tenantId, { ...params, by });
  }

  @Serve('listMyGrants')
  async listOwn(@Asked() { tenantId, principal, query }: Call<'listMyGrants'>) {
    const asked = { ...selfOf(principal), ...query };
    const { items: grants, next } = await this.backend.read(accessRpc.grantsOf, tenantId, asked);
    return { grants, next };
  }

  @Serve('requestAccess')
  request(@Asked() { tenantId, actor: user, body }: Call<'requestAccess'>) {
    return this.backend.write(accessRpc.requestAccess, tenantId, { ...body, user });
  }

  @Serve('listAccessRequests')
  async listRequests(@Asked() { tenantId, query }: Call<'listAccessRequests'>) {
    const { items: requests, next } = await this.backend.read(accessRpc.listAccessRequests, tenantId, query);
    return { requests, next };
  }

  @Serve('listMyAccessRequests')
  async listOwnRequests(@Asked() { tenantId, actor: user, query }: Call<'listMyAccessRequests'>) {
    const asked = { ...query, user };
    const { items: requests, next } = await this.backend.read(accessRpc.listAccessRequests, tenantId, asked);
    return { requests, next };
  }

  @Serve('approveAccessRequest')
  approve(@Asked() { tenantId, actor: by, params }: Call<'approveAccessRequest'>) {
    return this.backend.write(accessRpc.decideAccessRequest, tenantId, { ...params, by, approve: true });
  }

  @Serve('rejectAccessRequest')
  reject(@Asked() { tenantId, actor: by, params }: Call<'rejectAccessRequest'>) {
    return this.backend.write(accessRpc.decideAccessRequest, tenantId, { ...params, by, approve: false });
  }
}

/** As they were authenticated, never as they say. */
function selfOf({ user, kind, subjectGroups }: Principal): Pick<Principal, 'user' | 'kind' | 'subjectGroups'> {
  return { user, kind, subjectGroups };
}

import { registrationRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

@Controller()
export class CredentialsController {
  constructor(private readonly backend: Backend) {}

  @Serve('listBootstrapTokens')
  listTokens(@Asked() { tenantId, params }: Call<'listBootstrapTokens'>) {
    return this.backend.read(registrationRpc.listBootstrapTokens, tenantId, params);
  }

  @Serve('revokeBootstrapToken')
  revokeToken(@Asked() { tenantId, actor: by, params }: Call<'revokeBootstrapToken'>) {
    return this.backend.write(registrationRpc.revokeBootstrapToken, tenantId, { ...params, by });
  }

  @Serve('issueIdentity')
  issueIdentity(@Asked() { tenantId, actor: by, params, body }: Call<'issueIdentity'>) {
    return this.backend.write(registrationRpc.issueIdentity, tenantId, { ...params, ...body, by });
  }
}

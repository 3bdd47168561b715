import { registrationRpc, type BootstrapToken, type IssuedIdentity, type Principal } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { credentialOperations } from '../contract/credential-operations.js';
import type { BootstrapTokenList } from '../contract/schemas.js';
import { CurrentPrincipal, JsonBody, Params, Serve } from '../http/serve.js';
import { Backend } from './backend.js';

interface ByName {
  readonly name: string;
}

@Controller()
export class CredentialsController {
  constructor(private readonly backend: Backend) {}

  @Serve(credentialOperations.listBootstrapTokens)
  listTokens(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(credentialOperations.listBootstrapTokens) { name }: ByName,
  ): Promise<BootstrapTokenList> {
    return this.backend.read(registrationRpc.listBootstrapTokens, tenantId, { name });
  }

  @Serve(credentialOperations.revokeBootstrapToken)
  revokeToken(
    @CurrentPrincipal() { tenantId, user: by }: Principal,
    @Params(credentialOperations.revokeBootstrapToken) { name, id }: ByName & { readonly id: string },
  ): Promise<BootstrapToken> {
    return this.backend.write(registrationRpc.revokeBootstrapToken, tenantId, { name, id, by });
  }

  @Serve(credentialOperations.issueIdentity)
  issueIdentity(
    @CurrentPrincipal() { tenantId, user: by }: Principal,
    @Params(credentialOperations.issueIdentity) { name }: ByName,
    @JsonBody(credentialOperations.issueIdentity) { csr }: { readonly csr: string },
  ): Promise<IssuedIdentity> {
    return this.backend.write(registrationRpc.issueIdentity, tenantId, { name, csr, by });
  }
}

import { accessRpc, NO_TENANT } from '@fairlead/contracts';
import { Controller, Req } from '@nestjs/common';
import { CredentialRate } from '../auth/credential-rate.js';
import { bearerHashOf } from '../auth/authenticator.js';
import type { ApiRequest } from '../http/api-request.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** Signed access statements, for whoever asks and for the token that they ask with. */
@Controller()
export class CredentialsController {
  constructor(
    private readonly backend: Backend,
    private readonly rate: CredentialRate,
  ) {}

  @Serve('createCredential')
  async create(@Asked() { principal, params, body }: Call<'createCredential'>, @Req() request: ApiRequest) {
    this.rate.take(principal.tokenId);
    const tokenHash = bearerHashOf(request.headers.authorization);
    const asked = { ...body, tokenHash, cluster: params.name };
    const { envelope, ...until } = await this.backend.read(accessRpc.issueStatement, NO_TENANT, asked);
    return { ...until, statement: Buffer.from(envelope, 'base64').toString('base64url') };
  }
}

import { NO_TENANT, registrationRpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { clientAddressOf } from '@fairlead/limits';
import { AddressLimiter } from '../auth/address-limiter.js';
import { ImportCode } from '../contract/schemas.js';
import type { ApiRequest } from '../http/api-request.js';
import { Serve } from '../http/serve.js';
import { Backend } from './backend.js';

/** The one route that a cluster's operator calls without a token: the code is the secret. */
@Controller()
export class ImportController {
  constructor(
    private readonly backend: Backend,
    private readonly attempts: AddressLimiter,
  ) {}

  @Serve('redeemImportLink')
  async redeem(@Req() request: ApiRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    this.attempts.take(clientAddressOf(request.socket));
    const params = ImportCode.safeParse(request.params);
    // The same answer as for a code that never was: nothing tells how codes look.
    if (!params.success) throw new FairleadError('NOT_FOUND', 'there is no such import link');
    // Whoever hung up meanwhile must not lose the link.
    if (request.raw.destroyed) throw new FairleadError('UNAVAILABLE', 'the client is gone');
    const { manifest } = await this.backend.write(registrationRpc.redeemImportLink, NO_TENANT, params.data);
    void reply.type('text/yaml; charset=utf-8');
    return manifest;
  }
}

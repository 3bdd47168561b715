import { createHash } from 'node:crypto';
import { accessRpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type A = typeof accessRpc;

/** Answers as the access service. */
@Controller()
export class AccessScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(accessRpc.authenticate)
  async authenticate({ input }: RpcRequest<A['authenticate']>): RpcResult<A['authenticate']> {
    this.script.authentications += 1;
    const hash = createHash('sha256').update(this.script.token).digest('base64');
    if (this.script.revoked || input.tokenHash !== hash) {
      throw new FairleadError('UNAUTHENTICATED', 'the token is not known');
    }
    return this.script.principal;
  }
}

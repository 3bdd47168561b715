import { accessRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Authentication } from './authentication.js';

/** The part of the contract that every request to the API needs. */
@Controller()
export class AuthenticationController {
  constructor(private readonly authentication: Authentication) {}

  @RpcHandler(accessRpc.authenticate)
  async authenticate({ input }: RpcRequest<typeof accessRpc.authenticate>) {
    return this.authentication.authenticate(input.tokenHash);
  }
}

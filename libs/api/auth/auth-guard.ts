import { FairleadError } from '@fairlead/errors';
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Operation } from '../contract/operation.js';
import { OPERATION, requestOf } from '../http/serve.js';
import { Authenticator } from './authenticator.js';

/** Denies by default: what is not an operation marked public needs a token. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const operation = Reflect.getMetadata(OPERATION, context.getHandler()) as Operation | undefined;
    if (!operation) throw new FairleadError('FORBIDDEN', 'this route is not declared as an operation');
    if (operation.auth === 'public') return true;
    const request = requestOf(context);
    request.principal = await this.authenticator.authenticate(request.headers.authorization, request.ip);
    return true;
  }
}

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { clientAddressOf } from '@fairlead/limits';
import { requestOf, servedBy } from '../http/serve.js';
import { Authenticator } from './authenticator.js';

/** Denies by default: what is not an operation marked public needs a token. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (servedBy(context).auth === 'public') return true;
    const request = requestOf(context);
    request.principal = await this.authenticator.authenticate(
      request.headers.authorization,
      clientAddressOf(request.socket),
    );
    return true;
  }
}

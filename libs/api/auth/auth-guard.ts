import { subjectsOf, type Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { clientAddressOf } from '@fairlead/limits';
import { requestOf, servedBy } from '../http/serve.js';
import type { Operation } from '../contract/operation.js';
import { Authenticator } from './authenticator.js';

/** Denies by default: an operation that is marked neither public nor for users is for administrators. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const operation = servedBy(context);
    if (operation.auth === 'public') return true;
    const request = requestOf(context);
    request.principal = await this.authenticator.authenticate(
      request.headers.authorization,
      clientAddressOf(request.socket),
    );
    if (operation.auth !== 'user') requireAdministrator(request.principal, operation);
    return true;
  }
}

function requireAdministrator(principal: Principal, { method, path, next: steps }: Operation): void {
  if (principal.administrator) return;
  const [own] = subjectsOf(principal);
  const grant = `fairlead grant create --${own?.kind ?? 'user'} ${own?.name ?? principal.user} --role administrator`;
  const next = `ask an administrator to do it, or for the role: ${grant} --for 8h --reason TEXT`;
  const message = `${method} ${path} is for administrators, and ${principal.user} is none`;
  throw new FairleadError('FORBIDDEN', message, { details: { next: steps?.FORBIDDEN ?? next } });
}

import { subjectsOf, type Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { clientAddressOf } from '@fairlead/limits';
import { requestOf, servedBy } from '../http/serve.js';
import type { Operation } from '../contract/operation.js';
import { Backend } from '../feature/backend.js';
import { TENANT_HEADER, actingIn, administersInstallation } from './acting-tenant.js';
import { Authenticator } from './authenticator.js';

/** Denies by default: an operation that is marked neither public nor for users is for administrators, and within their tenant. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly backend: Backend,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const operation = servedBy(context);
    if (operation.auth === 'public') return true;
    const request = requestOf(context);
    const { authorization, [TENANT_HEADER]: tenant } = request.headers;
    const principal = await this.authenticator.authenticate(authorization, clientAddressOf(request.socket));
    request.principal = principal;
    if (operation.auth !== 'user') requireAdministrator(principal, operation);
    if (operation.auth === 'installation') requireInstallation(principal, operation);
    else request.principal = await actingIn(this.backend, principal, tenant);
    return true;
  }
}

function requireInstallation(principal: Principal, { method, path }: Operation): void {
  if (administersInstallation(principal)) return;
  const message = `${method} ${path} is for administrators of the installation, and ${principal.user} is of the tenant ${principal.tenantId}`;
  throw new FairleadError('FORBIDDEN', message, {
    details: { next: 'ask whoever runs this installation of Fairlead' },
  });
}

function requireAdministrator(principal: Principal, { method, path, next: steps }: Operation): void {
  if (principal.administrator) return;
  const [own] = subjectsOf(principal);
  const grant = `fairlead grant create --${own?.kind ?? 'user'} ${own?.name ?? principal.user} --role administrator`;
  const next = `ask an administrator to do it, or for the role: ${grant} --for 8h --reason TEXT`;
  const message = `${method} ${path} is for administrators, and ${principal.user} is none`;
  throw new FairleadError('FORBIDDEN', message, { details: { next: steps?.FORBIDDEN ?? next } });
}

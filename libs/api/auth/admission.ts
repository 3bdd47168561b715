import { subjectsOf, type Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { clientAddressOf } from '@fairlead/limits';
import { Injectable } from '@nestjs/common';
import type { Operation } from '../contract/operation.js';
import { Backend } from '../feature/backend.js';
import type { ApiRequest } from '../http/api-request.js';
import { TENANT_HEADER, actingIn, administersInstallation } from './acting-tenant.js';
import { Authenticator } from './authenticator.js';

/** Denies by default: an operation that is not marked public, for users or for auditors is for administrators, and within their tenant. */
@Injectable()
export class Admission {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly backend: Backend,
  ) {}

  /**
   * Who asks, in the tenant that they ask about. A stream asks again while it lasts, and hears of what was revoked within ten seconds. UNAUTHENTICATED, FORBIDDEN, NOT_FOUND,
   * RATE_LIMITED, UNAVAILABLE; INVALID_ARGUMENT for a name that no tenant can have.
   */
  async admit(operation: Operation, request: ApiRequest): Promise<Principal> {
    const { authorization, [TENANT_HEADER]: tenant } = request.headers;
    const principal = await this.authenticator.authenticate(authorization, clientAddressOf(request.socket));
    // Whose it was is told of what is refused, too.
    request.principal ??= principal;
    requireRole(principal, operation);
    if (operation.auth === 'installation') {
      requireInstallation(principal, operation);
      return principal;
    }
    return actingIn(this.backend, principal, tenant);
  }
}

function requireInstallation(principal: Principal, { method, path }: Operation): void {
  if (administersInstallation(principal)) return;
  const message = `${method} ${path} is for administrators of the installation, and ${principal.user} is of the tenant ${principal.tenantId}`;
  throw new FairleadError('FORBIDDEN', message, {
    details: { next: 'ask whoever runs this installation of Fairlead' },
  });
}

function requireRole(principal: Principal, { auth, method, path, next: steps }: Operation): void {
  if (auth === 'user' || principal.administrator) return;
  if (auth === 'auditor' && principal.auditor) return;
  const [own] = subjectsOf(principal);
  const role = auth === 'auditor' ? 'auditor' : 'administrator';
  const grant = `fairlead grant create --${own?.kind ?? 'user'} ${own?.name ?? principal.user} --role ${role}`;
  const next = principal.auditor
    ? 'an auditor reads the audit log, and nothing else: ask an administrator to do it'
    : `ask an administrator to do it, or for the role: ${grant} --for 8h --reason TEXT`;
  const message = `${method} ${path} is for ${role === 'auditor' ? 'auditors and ' : ''}administrators, and ${principal.user} is none`;
  throw new FairleadError('FORBIDDEN', message, { details: { next: steps?.FORBIDDEN ?? next } });
}

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { requestOf, servedBy } from '../http/serve.js';
import { Admission } from './admission.js';

/** Lets nobody in whom `Admission` does not, but to what is public. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(private readonly admission: Admission) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const operation = servedBy(context);
    if (operation.auth === 'public') return true;
    const request = requestOf(context);
    request.principal = await this.admission.admit(operation, request);
    return true;
  }
}

import { createHash } from 'node:crypto';
import { DEFAULT_TENANT, NO_TENANT, accessRpc } from '@fairlead/contracts';
import { clientAddressOf } from '@fairlead/limits';
import { Controller, Req } from '@nestjs/common';
import { Authenticator } from '../auth/authenticator.js';
import { LoginAttempts } from '../auth/login-attempts.js';
import { EndedLogin, LoginOptionsQuery, NewLogin } from '../contract/login-operations.js';
import type { ApiRequest } from '../http/api-request.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { parseInput } from '../problem/invalid-input.js';
import { Backend } from './backend.js';

/** Logins of people and programs. Who asks mostly has no token yet: each address may do so only so often. */
@Controller()
export class LoginsController {
  constructor(
    private readonly backend: Backend,
    private readonly attempts: LoginAttempts,
    private readonly authenticator: Authenticator,
  ) {}

  @Serve('listLoginOptions')
  options(@Req() request: ApiRequest) {
    this.attempts.take(clientAddressOf(request.socket));
    const { tenant = DEFAULT_TENANT } = parseInput(LoginOptionsQuery, request.query, 'query');
    return this.backend.read(accessRpc.listLoginOptions, tenant, {});
  }

  @Serve('createLogin')
  create(@Req() request: ApiRequest) {
    this.attempts.take(clientAddressOf(request.socket));
    const { session, ...proof } = parseInput(NewLogin, request.body, 'body');
    const renewed = session === undefined ? {} : { sessionHash: hashOf(session) };
    return this.backend.write(accessRpc.exchangeToken, NO_TENANT, { ...proof, ...renewed });
  }

  @Serve('endCurrentLogin')
  async endCurrent(@Asked() { principal }: Call<'endCurrentLogin'>) {
    await this.backend.write(accessRpc.endLogin, NO_TENANT, { tokenId: principal.tokenId });
    this.authenticator.forget(principal.tokenId);
  }

  @Serve('endLogin')
  async end(@Req() request: ApiRequest) {
    this.attempts.take(clientAddressOf(request.socket));
    const { session } = parseInput(EndedLogin, request.body, 'body');
    await this.backend.write(accessRpc.endLogin, NO_TENANT, { sessionHash: hashOf(session) });
  }
}

/** The secret itself goes no further than this. */
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}

import { createHash, randomBytes } from 'node:crypto';
import { NO_TENANT, accessRpc, type Issuer, type LoginOption } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script, type ScriptedLogin } from './script.js';
import { userOf } from './somebody.js';

type A = typeof accessRpc;

interface IdToken {
  readonly iss: string;
  readonly aud: string;
  readonly sub: string;
  readonly nonce?: string;
  readonly groups?: readonly string[];
}

/** The access service, as far as it is about logins: it reads ID tokens, and believes what they say without looking at who signed them. */
@Controller()
export class LoginsScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(accessRpc.listLoginOptions)
  async listLoginOptions(): RpcResult<A['listLoginOptions']> {
    const people = [...this.script.issuers.values()].filter(({ kind }) => kind === 'oidc');
    return { issuers: people.map(optionOf) };
  }

  @RpcHandler(accessRpc.exchangeToken)
  async exchangeToken({ input, tenantId }: RpcRequest<A['exchangeToken']>): RpcResult<A['exchangeToken']> {
    if (tenantId !== NO_TENANT) throw new FairleadError('INVALID_ARGUMENT', 'who logs in is of no tenant yet');
    const failure = this.script.loginFailure;
    if (failure) throw failure;
    const issuer = this.script.issuers.get(input.issuer);
    const claims = claimsOf(input.token);
    if (!issuer || claims.iss !== issuer.url || claims.aud !== issuer.audience)
      throw refused('it is of another issuer');
    if (this.script.exchanged.has(input.token)) throw refused('the token was taken before');
    this.script.exchanged.add(input.token);
    return input.sessionHash === undefined
      ? this.#begin(issuer, claims, input.nonceVerifier)
      : this.#renew(issuer, claims, input.sessionHash);
  }

  @RpcHandler(accessRpc.endLogin)
  async endLogin({ input }: RpcRequest<A['endLogin']>): RpcResult<A['endLogin']> {
    const { logins, users } = this.script;
    const ended = logins.filter((login) =>
      'sessionHash' in input
        ? login.sessionHash === input.sessionHash
        : login.tokens.some((token) => users.get(token)?.tokenId === input.tokenId),
    );
    for (const { tokens } of ended) for (const token of tokens) users.delete(token);
    this.script.logins = logins.filter((login) => !ended.includes(login));
    return {};
  }

  #begin(issuer: Issuer, claims: IdToken, nonceVerifier: string | undefined) {
    const nonce = nonceVerifier === undefined ? undefined : sha256(nonceVerifier, 'base64url');
    if (claims.nonce !== nonce) throw refused('it was not asked for by whoever shows it');
    if (nonce === undefined && !issuer.deviceCode) throw refused('logins by code are not allowed');
    const session = randomBytes(32).toString('base64url');
    const login = { sessionHash: sha256(session, 'base64'), issuer: issuer.name, subject: claims.sub, tokens: [] };
    this.script.logins.push(login);
    return { ...this.#token(issuer, claims, login), session };
  }

  #renew(issuer: Issuer, claims: IdToken, sessionHash: string) {
    const login = this.script.logins.find((each) => each.sessionHash === sessionHash);
    if (login?.issuer !== issuer.name || login.subject !== claims.sub) throw refused('there is no such session');
    return { ...this.#token(issuer, claims, login), session: null };
  }

  #token(issuer: Issuer, claims: IdToken, login: ScriptedLogin) {
    const token = `fl_login_${randomBytes(32).toString('base64url')}`;
    const user = `${issuer.prefix}${claims.sub}`;
    const expiresAt = after(this.script.loginSeconds);
    login.tokens.push(token);
    const subjectGroups = (claims.groups ?? []).map((group) => `${issuer.prefix}${group}`);
    this.script.users.set(token, userOf(user, { subjectGroups, expiresAt }));
    return { token, expiresAt, user, sessionEndsAt: after(this.script.sessionSeconds) };
  }
}

function optionOf({ name, url, audience: clientId, scopes, deviceCode, certificateAuthority }: Issuer): LoginOption {
  return { name, url, clientId, scopes, deviceCode, certificateAuthority };
}

function claimsOf(token: string): IdToken {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as IdToken;
}

function sha256(text: string, encoding: 'base64' | 'base64url'): string {
  return createHash('sha256').update(text).digest(encoding);
}

function after(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString();
}

function refused(why: string): FairleadError {
  return new FairleadError('UNAUTHENTICATED', `the token of the issuer is not taken: ${why}`);
}

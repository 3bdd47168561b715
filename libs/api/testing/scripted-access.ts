import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  type AccessRequest,
  type ApiToken,
  type Cluster,
  type ClusterScope,
  type Grant,
  type NewGrant,
  type Subject,
  accessRpc,
  expectRevision,
  parseLabelSelector,
  revisionOf,
  selectsLabels,
  subjectsOf,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type A = typeof accessRpc;
type Asker = Parameters<typeof subjectsOf>[0];

/** The access service, as far as it is about who somebody is and what is granted. */
@Controller()
export class AccessScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(accessRpc.authenticate)
  async authenticate({ input }: RpcRequest<A['authenticate']>): RpcResult<A['authenticate']> {
    this.script.authentications += 1;
    const known = [[this.script.token, this.script.principal] as const, ...this.script.users];
    const found = known.find(([token]) => createHash('sha256').update(token).digest('base64') === input.tokenHash);
    if (this.script.revoked || !found) throw new FairleadError('UNAUTHENTICATED', 'the token is not known');
    return found[1];
  }

  @RpcHandler(accessRpc.createGrant)
  async createGrant({ tenantId, input }: RpcRequest<A['createGrant']>): RpcResult<A['createGrant']> {
    const { by, ...said } = input;
    return this.#grant(tenantId, by, said, null);
  }

  @RpcHandler(accessRpc.listGrants)
  async listGrants({ input }: RpcRequest<A['listGrants']>): RpcResult<A['listGrants']> {
    const { subject, cluster } = input;
    const known = cluster === undefined ? undefined : this.script.clusters.get(cluster);
    const meant = this.#grants().filter(
      (grant) =>
        (subject === undefined || same(subject, grant.subject)) &&
        (cluster === undefined || (known !== undefined && means(grant.clusters, known))),
    );
    return pageOf(this.script, meant, input.after);
  }

  @RpcHandler(accessRpc.getGrant)
  async getGrant({ input }: RpcRequest<A['getGrant']>): RpcResult<A['getGrant']> {
    return this.#known(input.id);
  }

  @RpcHandler(accessRpc.grantsOf)
  async grantsOf({ input }: RpcRequest<A['grantsOf']>): RpcResult<A['grantsOf']> {
    return pageOf(this.script, this.#grantsOf(input), input.after);
  }

  @RpcHandler(accessRpc.clustersOf)
  async clustersOf({ input }: RpcRequest<A['clustersOf']>): RpcResult<A['clustersOf']> {
    const { after = '', name: only } = input;
    const grants = this.#grantsOf(input).filter(({ effect, role }) => effect === 'allow' && role !== 'administrator');
    const left = [...this.script.clusters.values()]
      .filter((cluster) => grants.some(({ clusters }) => means(clusters, cluster)))
      .map(({ name }) => name)
      .filter((name) => name > after && (only === undefined || name === only))
      .sort();
    const names = left.slice(0, this.script.pageSize);
    const next = names.at(-1);
    return names.length < left.length && next !== undefined ? { names, next } : { names };
  }

  @RpcHandler(accessRpc.deleteGrant)
  async deleteGrant({ input }: RpcRequest<A['deleteGrant']>): RpcResult<A['deleteGrant']> {
    this.script.grants.delete(this.#known(input.id).id);
    return {};
  }

  @RpcHandler(accessRpc.requestAccess)
  async requestAccess({ tenantId, input }: RpcRequest<A['requestAccess']>): RpcResult<A['requestAccess']> {
    const undecided = { state: 'pending', decidedBy: null, decidedAt: null, grantId: null } as const;
    const made = { ...input, ...undecided, id: randomUUID(), tenantId, createdAt: new Date().toISOString() };
    this.script.accessRequests.set(made.id, made);
    return made;
  }

  @RpcHandler(accessRpc.listAccessRequests)
  async listAccessRequests({ input }: RpcRequest<A['listAccessRequests']>): RpcResult<A['listAccessRequests']> {
    const meant = [...this.script.accessRequests.values()].filter(
      ({ state, user }) => (input.state ?? state) === state && (input.user ?? user) === user,
    );
    return pageOf(this.script, meant, input.after);
  }

  @RpcHandler(accessRpc.decideAccessRequest)
  async decide({ input }: RpcRequest<A['decideAccessRequest']>): RpcResult<A['decideAccessRequest']> {
    const { id, by, approve } = input;
    const asked = this.script.accessRequests.get(id);
    if (!asked) throw new FairleadError('NOT_FOUND', 'there is no such access request');
    if (asked.user === by) throw new FairleadError('FORBIDDEN', 'somebody else has to decide about it');
    if (asked.state !== 'pending') throw new FairleadError('CONFLICT', `it was ${asked.state} before`);
    const decided: AccessRequest = {
      ...asked,
      state: approve ? 'approved' : 'rejected',
      decidedBy: by,
      decidedAt: new Date().toISOString(),
      grantId: approve ? this.#grant(asked.tenantId, by, grantFor(asked), id).id : null,
    };
    this.script.accessRequests.set(id, decided);
    return decided;
  }

  #grant(tenantId: string, createdBy: string, said: NewGrant, requestId: string | null): Grant {
    const made = { ...said, id: randomUUID(), tenantId, createdBy, createdAt: new Date().toISOString(), requestId };
    this.script.grants.set(made.id, made);
    return made;
  }

  #grants(): Grant[] {
    return [...this.script.grants.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  #grantsOf(asker: Asker): Grant[] {
    const subjects = subjectsOf(asker);
    return this.#grants().filter((grant) => subjects.some((subject) => same(subject, grant.subject)));
  }

  #known(id: string): Grant {
    const grant = this.script.grants.get(id);
    if (!grant) throw new FairleadError('NOT_FOUND', 'there is no such grant');
    return grant;
  }
}

/** The access service, as far as it is about tokens, lockdowns, issuers and why. */
@Controller()
export class AccessControlsScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(accessRpc.createToken)
  async createToken({ tenantId, input }: RpcRequest<A['createToken']>): RpcResult<A['createToken']> {
    const { by: createdBy, ...said } = input;
    const standing = [...this.script.apiTokens.values()].some(
      ({ name, revokedAt }) => name === said.name && revokedAt === null,
    );
    if (standing) throw new FairleadError('ALREADY_EXISTS', `there is a token ${said.name} already`);
    const never = { lastUsedAt: null, revokedAt: null };
    const token = { ...said, ...never, id: randomUUID(), tenantId, createdBy, createdAt: new Date().toISOString() };
    this.script.apiTokens.set(token.id, token);
    return { token, secret: randomBytes(32).toString('base64url') };
  }

  @RpcHandler(accessRpc.listTokens)
  async listTokens({ input }: RpcRequest<A['listTokens']>): RpcResult<A['listTokens']> {
    return pageOf(this.script, [...this.script.apiTokens.values()], input.after);
  }

  @RpcHandler(accessRpc.revokeToken)
  async revokeToken({ input }: RpcRequest<A['revokeToken']>): RpcResult<A['revokeToken']> {
    const token = this.script.apiTokens.get(input.id);
    if (!token) throw new FairleadError('NOT_FOUND', 'there is no such token');
    const revoked: ApiToken = { ...token, revokedAt: token.revokedAt ?? new Date().toISOString() };
    this.script.apiTokens.set(token.id, revoked);
    return revoked;
  }

  /** Nothing is signed: an envelope that says how many there were before. */
  @RpcHandler(accessRpc.issueStatement)
  async issueStatement({ input }: RpcRequest<A['issueStatement']>): RpcResult<A['issueStatement']> {
    const { cluster, seconds } = input;
    const { statementFailure, statementSeconds, statementsAsked } = this.script;
    statementsAsked.push({ cluster, seconds });
    if (statementFailure) throw statementFailure;
    if (!this.script.clusters.has(cluster)) {
      throw new FairleadError('NOT_FOUND', `there is no cluster named ${cluster}`);
    }
    const openUntil = new Date(Date.now() + (seconds ?? statementSeconds) * 1_000).toISOString();
    const envelope = Buffer.from(`signed ${statementsAsked.length}`).toString('base64');
    return { envelope, openUntil, streamsUntil: openUntil };
  }

  @RpcHandler(accessRpc.listLockdowns)
  async listLockdowns(_request: RpcRequest<A['listLockdowns']>): RpcResult<A['listLockdowns']> {
    return { lockdowns: [...this.script.lockdowns.values()] };
  }

  @RpcHandler(accessRpc.lockDown)
  async lockDown({ input }: RpcRequest<A['lockDown']>): RpcResult<A['lockDown']> {
    const key = this.#lockedCluster(input.cluster);
    const lockdown = this.script.lockdowns.get(key) ?? { ...input, at: new Date().toISOString() };
    this.script.lockdowns.set(key, lockdown);
    return lockdown;
  }

  @RpcHandler(accessRpc.liftLockdown)
  async liftLockdown({ input }: RpcRequest<A['liftLockdown']>): RpcResult<A['liftLockdown']> {
    if (this.script.lockdowns.delete(this.#lockedCluster(input.cluster))) return {};
    throw new FairleadError('NOT_FOUND', 'nothing is locked down there');
  }

  @RpcHandler(accessRpc.listUsers)
  async listUsers({ input }: RpcRequest<A['listUsers']>): RpcResult<A['listUsers']> {
    return pageOf(this.script, this.script.knownUsers, input.after);
  }

  @RpcHandler(accessRpc.listIssuers)
  async listIssuers(_request: RpcRequest<A['listIssuers']>): RpcResult<A['listIssuers']> {
    const issuers = [...this.script.issuers.values()];
    return { issuers: issuers.map((issuer) => ({ ...issuer, revision: revisionOf(issuer) })) };
  }

  @RpcHandler(accessRpc.getIssuer)
  async getIssuer({ input: { name } }: RpcRequest<A['getIssuer']>): RpcResult<A['getIssuer']> {
    const issuer = this.script.issuers.get(name);
    if (!issuer) throw new FairleadError('NOT_FOUND', `there is no issuer ${name}`);
    return { ...issuer, revision: revisionOf(issuer) };
  }

  @RpcHandler(accessRpc.putIssuer)
  async putIssuer({
    input: { by: _by, ifRevision, ...issuer },
  }: RpcRequest<A['putIssuer']>): RpcResult<A['putIssuer']> {
    const held = this.script.issuers.get(issuer.name);
    expectRevision(`the issuer ${issuer.name}`, held ? revisionOf(held) : null, ifRevision);
    const other = [...this.script.issuers.values()].find(
      ({ name, prefix }) => name !== issuer.name && prefix === issuer.prefix,
    );
    if (other) throw new FairleadError('ALREADY_EXISTS', `${other.name} has this prefix`);
    this.script.issuers.set(issuer.name, issuer);
    return { ...issuer, revision: revisionOf(issuer) };
  }

  @RpcHandler(accessRpc.removeIssuer)
  async removeIssuer({ input }: RpcRequest<A['removeIssuer']>): RpcResult<A['removeIssuer']> {
    if (this.script.issuers.delete(input.name)) return {};
    throw new FairleadError('NOT_FOUND', `there is no issuer ${input.name}`);
  }

  /** Decides by subject and cluster only: the rest is the real one's. */
  @RpcHandler(accessRpc.explain)
  async explain({ input }: RpcRequest<A['explain']>): RpcResult<A['explain']> {
    this.script.explained.push(input);
    const cluster = this.script.clusters.get(input.cluster);
    if (!cluster) throw new FairleadError('NOT_FOUND', `there is no cluster named ${input.cluster}`);
    const grant = [...this.script.grants.values()].find(
      ({ subject, clusters }) => same(subject, input.subject) && means(clusters, cluster),
    );
    if (!grant) return { allowed: false, grantId: null, groups: [], because: 'no grant of theirs means this cluster' };
    return { allowed: true, grantId: grant.id, groups: [`fairlead:${grant.role ?? ''}`], because: 'a grant allows it' };
  }

  /** The key that a lockdown has: the empty name for all. NOT_FOUND for a cluster that is not there. */
  #lockedCluster(name: string | null): string {
    if (name !== null && !this.script.clusters.has(name)) {
      throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
    }
    return name ?? '';
  }
}

function means(scope: ClusterScope, { name, labels }: Cluster): boolean {
  if ('all' in scope) return true;
  if ('names' in scope) return scope.names.includes(name);
  return selectsLabels(parseLabelSelector(scope.selector), labels);
}

function same(one: Subject, other: Subject): boolean {
  return one.kind === other.kind && one.name === other.name;
}

function grantFor({ user, clusters, role, narrowing, seconds, reason }: AccessRequest): NewGrant {
  const expiresAt = new Date(Date.now() + seconds * 1_000).toISOString();
  const subject = { kind: 'user', name: user } as const;
  return { subject, effect: 'allow', clusters, role, groups: [], narrowing, notBefore: null, expiresAt, reason };
}

function pageOf<Item extends { readonly id: string }>(
  { pageSize }: Script,
  all: readonly Item[],
  after: string | undefined,
): { items: Item[]; next?: string } {
  const from = after === undefined ? 0 : 1 + all.findIndex(({ id }) => id === after);
  const items = all.slice(from, from + pageSize);
  const next = items.at(-1)?.id;
  return next !== undefined && from + items.length < all.length ? { items, next } : { items };
}

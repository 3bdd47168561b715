import { accessRpc, subjectsOf, type Principal, type Subject } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Controller } from '@nestjs/common';
import { Authenticator } from '../auth/authenticator.js';
import { IfRevision, type Expected } from '../http/revisions.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';
import { VisibleClusters } from './visible-clusters.js';

type Question = Call<'explainAccess'>['body'];

/** Who gets in at all: tokens, issuers, lockdowns; and why. */
@Controller()
export class AccessController {
  constructor(
    private readonly backend: Backend,
    private readonly visible: VisibleClusters,
    private readonly authenticator: Authenticator,
  ) {}

  @Serve('explainAccess')
  async explain(@Asked() { tenantId, principal, body }: Call<'explainAccess'>) {
    const whose = askedAbout(principal, body);
    await this.visible.requireVisible(principal, body.cluster);
    const { subject: _subject, groups: _groups, ...request } = body;
    return this.backend.read(accessRpc.explain, tenantId, { ...request, ...whose });
  }

  @Serve('listLockdowns')
  listLockdowns(@Asked() { tenantId }: Call<'listLockdowns'>) {
    return this.backend.read(accessRpc.listLockdowns, tenantId, {});
  }

  @Serve('lockDown')
  lockDown(@Asked() { tenantId, actor: by, body }: Call<'lockDown'>) {
    return this.backend.write(accessRpc.lockDown, tenantId, { ...body, by, cluster: null });
  }

  @Serve('liftLockdown')
  async liftLockdown(@Asked() { tenantId, actor: by }: Call<'liftLockdown'>) {
    await this.backend.write(accessRpc.liftLockdown, tenantId, { by, cluster: null });
  }

  @Serve('lockDownCluster')
  lockDownCluster(@Asked() { tenantId, actor: by, params: { name: cluster }, body }: Call<'lockDownCluster'>) {
    return this.backend.write(accessRpc.lockDown, tenantId, { ...body, by, cluster });
  }

  @Serve('liftClusterLockdown')
  async liftClusterLockdown(@Asked() { tenantId, actor: by, params }: Call<'liftClusterLockdown'>) {
    await this.backend.write(accessRpc.liftLockdown, tenantId, { by, cluster: params.name });
  }

  @Serve('createApiToken')
  createToken(@Asked() { tenantId, actor: by, body }: Call<'createApiToken'>) {
    return this.backend.write(accessRpc.createToken, tenantId, { ...body, by });
  }

  @Serve('listApiTokens')
  async listTokens(@Asked() { tenantId, query }: Call<'listApiTokens'>) {
    const { items: tokens, next } = await this.backend.read(accessRpc.listTokens, tenantId, query);
    return { tokens, next };
  }

  @Serve('revokeApiToken')
  async revokeToken(@Asked() { tenantId, actor: by, params }: Call<'revokeApiToken'>) {
    const revoked = await this.backend.write(accessRpc.revokeToken, tenantId, { ...params, by });
    this.authenticator.forget(revoked.id);
    return revoked;
  }

  @Serve('listUsers')
  async listUsers(@Asked() { tenantId, query }: Call<'listUsers'>) {
    const { items: users, next } = await this.backend.read(accessRpc.listUsers, tenantId, query);
    return { users, next };
  }

  @Serve('listIssuers')
  listIssuers(@Asked() { tenantId }: Call<'listIssuers'>) {
    return this.backend.read(accessRpc.listIssuers, tenantId, {});
  }

  @Serve('getIssuer')
  getIssuer(@Asked() { tenantId, params }: Call<'getIssuer'>) {
    return this.backend.read(accessRpc.getIssuer, tenantId, params);
  }

  @Serve('putIssuer')
  putIssuer(@Asked() { tenantId, actor: by, params, body }: Call<'putIssuer'>, @IfRevision() ifRevision: Expected) {
    return this.backend.write(accessRpc.putIssuer, tenantId, { ...body, ...params, by, ifRevision });
  }

  @Serve('removeIssuer')
  async removeIssuer(
    @Asked() { tenantId, actor: by, params }: Call<'removeIssuer'>,
    @IfRevision() ifRevision: Expected,
  ) {
    await this.backend.write(accessRpc.removeIssuer, tenantId, { ...params, by, ifRevision });
  }
}

interface AskedAbout {
  readonly subject: Subject;
  readonly subjectGroups?: string[] | undefined;
}

/** Whom a question is about. FORBIDDEN for a user who asks about anybody else, or as if they had other groups. */
function askedAbout(principal: Principal, { subject, groups }: Question): AskedAbout {
  const [own] = subjectsOf(principal);
  const isOwn = subject === undefined || (subject.kind === own?.kind && subject.name === own.name);
  if (!principal.administrator && (!isOwn || groups !== undefined)) {
    const next = 'leave out whose access it is, and their groups';
    throw new FairleadError('FORBIDDEN', 'only an administrator may ask about others', { details: { next } });
  }
  if (own && isOwn) return { subject: own, subjectGroups: groups ?? principal.subjectGroups };
  if (subject) return { subject, subjectGroups: groups };
  const next = 'say whose access it is: fairlead access explain USER CLUSTER VERB RESOURCE';
  const message = 'the administrator of the installation needs no grant, so none decides';
  throw new FairleadError('INVALID_ARGUMENT', message, { details: { next } });
}

import {
  expectRevision,
  isOfInstallation,
  revisionOf,
  type Caller,
  type Expecting,
  type Issuer,
  type LoginOption,
  type ShownIssuer,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { checkIssuer } from '@fairlead/oidc';
import { withAdvisoryLock } from '@fairlead/persistence';
import { revokedIssuer } from '../domain/revoked.js';
import { checkNewIssuer, endsLogins } from '../domain/issuer-rules.js';
import { deleteIssuer, endLoginsOf, findIssuer, issuersOf, lockIssuer, saveIssuer } from '../store/issuer-store.js';
import { addRevoked } from '../store/revocation-store.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';

interface AskedBy extends Expecting {
  readonly by: string;
}

/** Where people log in, and whose programs' tokens are taken. */
export class Issuers {
  constructor(private readonly runtime: Runtime) {}

  /** By name. */
  async list(tenantId: string): Promise<ShownIssuer[]> {
    const rows = await read(this.runtime, (manager) => issuersOf(manager, tenantId));
    return rows.map(({ definition }) => shown(definition));
  }

  /** NOT_FOUND. */
  async get(tenantId: string, name: string): Promise<ShownIssuer> {
    const issuer = await read(this.runtime, (manager) => findIssuer(manager, name));
    if (issuer?.tenantId !== tenantId) throw noIssuer(name);
    return shown(issuer.definition);
  }

  /** What somebody who is not logged in may know. */
  async loginOptions(tenantId: string): Promise<LoginOption[]> {
    const issuers = await this.list(tenantId);
    return issuers.filter(({ kind }) => kind === 'oidc').map(toLoginOption);
  }

  /** Adds it, or replaces the one of this name. ALREADY_EXISTS, REVISION_CONFLICT, INVALID_ARGUMENT: see the contract. */
  async put(caller: Caller, tenantId: string, { by, ifRevision }: AskedBy, issuer: Issuer): Promise<ShownIssuer> {
    checkIssuer(issuer);
    if (!isOfInstallation(tenantId)) refuseLoopback(issuer);
    const { name } = issuer;
    await commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, 'issuers');
      const before = await lockIssuer(manager, name);
      if (before && before.tenantId !== tenantId)
        throw new FairleadError('ALREADY_EXISTS', `the name ${name} is taken; choose another`);
      expectRevision(`the issuer ${name}`, before && revisionOf(before.definition), ifRevision);
      const others = await issuersOf(manager, tenantId);
      checkNewIssuer(
        issuer,
        others.flatMap(({ definition }) => (definition.name === name ? [] : definition)),
      );
      const ends = before !== null && endsLogins(before.definition, issuer);
      const ended = ends ? await endLoginsOf(manager, name) : 0;
      if (ends) await addRevoked(manager, tenantId, [revokedIssuer(before.definition, this.runtime.now())]);
      await saveIssuer(manager, tenantId, issuer);
      const { kind, url } = issuer;
      const event = { ...about(caller, tenantId, by, name), kind, url, ended };
      await tell(this.runtime, manager, 'dev.fairlead.issuer.changed.v1', event);
    });
    return shown(issuer);
  }

  /** Logins by it end at once. NOT_FOUND, REVISION_CONFLICT. */
  async remove(caller: Caller, tenantId: string, { by, ifRevision }: AskedBy, name: string): Promise<void> {
    await commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, 'issuers');
      const issuer = await lockIssuer(manager, name);
      if (issuer?.tenantId !== tenantId) throw noIssuer(name);
      expectRevision(`the issuer ${name}`, revisionOf(issuer.definition), ifRevision);
      const ended = await endLoginsOf(manager, name);
      await deleteIssuer(manager, tenantId, name);
      await addRevoked(manager, tenantId, [revokedIssuer(issuer.definition, this.runtime.now())]);
      const event = { ...about(caller, tenantId, by, name), ended };
      await tell(this.runtime, manager, 'dev.fairlead.issuer.removed.v1', event);
    });
  }
}

function shown(issuer: Issuer): ShownIssuer {
  return { ...issuer, revision: revisionOf(issuer) };
}

function noIssuer(name: string): FairleadError {
  return new FairleadError('NOT_FOUND', `there is no issuer named ${name}`);
}

/** What listens on loopback beside this service is for whoever runs the installation. */
function refuseLoopback({ url }: Issuer): void {
  if (new URL(url).protocol === 'https:') return;
  throw new FairleadError('INVALID_ARGUMENT', 'the issuer of a tenant has an https:// URL');
}

function toLoginOption({ name, url, scopes, deviceCode, certificateAuthority, audience }: Issuer): LoginOption {
  return { name, url, clientId: audience, scopes, deviceCode, certificateAuthority };
}

function about(caller: Caller, tenantId: string, by: string, name: string) {
  return { tenantId, issuer: name, subject: `issuer/${name}`, actor: operatorOf(caller, by), reason: 'OK' };
}

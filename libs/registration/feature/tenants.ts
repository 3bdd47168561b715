import { isDeepStrictEqual } from 'node:util';
import {
  TenantQuotas,
  expectRevision,
  isOfInstallation,
  pageOf,
  revisionOf,
  type Caller,
  type Expecting,
  type Tenant,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import {
  countsOf,
  countsOfEach,
  findTenant,
  insertTenant,
  listTenants,
  lockTenant,
  saveTenant,
  type StoredTenant,
  type TenantCounts,
} from '../store/tenant-store.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';

const PAGE_ROWS = 200;

/** Who owns clusters apart from each other in one installation. */
export class Tenants {
  constructor(private readonly runtime: Runtime) {}

  /** ALREADY_EXISTS, also for the name of one that was deleted: what still names it somewhere must not mean another one. */
  async create(caller: Caller, by: string, name: string, quotas: TenantQuotas): Promise<Tenant> {
    return commit(this.runtime, async (manager) => {
      const row = await insertTenant(manager, name, quotas);
      if (!row) {
        const why = `a tenant named ${name} exists, or was deleted: names are not used again`;
        throw new FairleadError('ALREADY_EXISTS', why);
      }
      await tell(this.runtime, manager, 'dev.fairlead.tenant.created.v1', { ...about(caller, by, name), quotas });
      return show(manager, row);
    });
  }

  /** As many as fit in an answer; `next` is the name to go on after. */
  async list(after = ''): Promise<{ tenants: Tenant[]; next?: string }> {
    return read(this.runtime, async (manager) => {
      const rows = await listTenants(manager, after, PAGE_ROWS);
      const countsIn = await countsOfEach(
        manager,
        rows.map(({ id }) => id),
      );
      const all = rows.map((row) => shown(row, countsIn(row.id)));
      const { items: tenants, ...next } = pageOf(all, PAGE_ROWS, ({ name }) => name);
      return { tenants, ...next };
    });
  }

  /** NOT_FOUND. */
  async get(name: string): Promise<Tenant> {
    return read(this.runtime, async (manager) => show(manager, await findTenant(manager, name)));
  }

  /** What it has beyond a lower quota stays. NOT_FOUND, REVISION_CONFLICT, INVALID_ARGUMENT. */
  async setQuotas(
    caller: Caller,
    { by, ifRevision }: Expecting & { readonly by: string },
    name: string,
    quotas: TenantQuotas,
  ): Promise<Tenant> {
    refuseDefault(name, 'has no quotas');
    return commit(this.runtime, async (manager) => {
      const row = await lockTenant(manager, name);
      if (row.deletedAt) return show(manager, await findTenant(manager, name));
      const before = TenantQuotas.parse(row.quotas);
      expectRevision(`the tenant ${name}`, revisionOf(before), ifRevision);
      if (!isDeepStrictEqual(before, quotas)) {
        await saveTenant(manager, name, { quotas });
        await tell(this.runtime, manager, 'dev.fairlead.tenant.changed.v1', { ...about(caller, by, name), quotas });
      }
      return show(manager, { ...row, quotas });
    });
  }

  /** NOT_FOUND, INVALID_ARGUMENT, and CONFLICT while it has something. */
  async delete(caller: Caller, by: string, name: string): Promise<void> {
    refuseDefault(name, 'cannot be deleted');
    await commit(this.runtime, async (manager) => {
      const row = await lockTenant(manager, name);
      if (row.deletedAt) return;
      const { clusters, clients } = await countsOf(manager, name);
      if (clusters + clients > 0) {
        const why = `the tenant ${name} still has clusters (${clusters}) or clients (${clients}); delete them first`;
        throw new FairleadError('CONFLICT', why);
      }
      await saveTenant(manager, name, { deletedAt: this.runtime.now() });
      await tell(this.runtime, manager, 'dev.fairlead.tenant.deleted.v1', about(caller, by, name));
    });
  }
}

async function show(manager: EntityManager, row: StoredTenant): Promise<Tenant> {
  return shown(row, await countsOf(manager, row.id));
}

function shown(row: StoredTenant, counts: TenantCounts): Tenant {
  const { id: name, createdAt } = row;
  const quotas = TenantQuotas.parse(row.quotas);
  return { name, quotas, createdAt: createdAt.toISOString(), ...counts, revision: revisionOf(quotas) };
}

function refuseDefault(name: string, why: string): void {
  if (!isOfInstallation(name)) return;
  throw new FairleadError('INVALID_ARGUMENT', `the tenant ${name} is the installation's own and ${why}`);
}

function about(caller: Caller, by: string, name: string) {
  return { tenantId: name, subject: `tenant/${name}`, actor: operatorOf(caller, by), reason: 'OK' };
}

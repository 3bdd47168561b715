import { Subject, pageOf, type AccessRequest, type Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { commit, operatorOf, read, tell, type Actor, type ServiceRuntime } from '@fairlead/events';
import { withAdvisoryLock } from '@fairlead/persistence';
import { MAX_PENDING, PENDING_MS, decideRequest, stateOf, subjectOfUser } from '../domain/access-request.js';
import { checkNewGrant } from '../domain/grant.js';
import {
  countPending,
  insertAccessRequest,
  listAccessRequests,
  lockAccessRequest,
  recordDecision,
  type AccessRequestFilter,
} from '../store/access-request-store.js';
import { addGrant } from './add-grant.js';
import type { Page } from './grants.js';
import type { QuotasOf } from './tenant-quotas.js';

const PAGE_ROWS = 500;

type Asked = Pick<AccessRequest, 'user' | 'clusters' | 'role' | 'narrowing' | 'seconds' | 'reason'>;

/** Grants for a limited time: somebody asks, somebody else decides. */
export class AccessRequests {
  constructor(
    private readonly runtime: ServiceRuntime,
    private readonly quotasOf: QuotasOf,
  ) {}

  /** INVALID_ARGUMENT for what nobody could grant; RATE_LIMITED while too many of the user's wait for a decision. */
  async create(caller: Caller, tenantId: string, asked: Asked): Promise<AccessRequest> {
    const now = this.runtime.now();
    const request: AccessRequest = {
      ...asked,
      id: crypto.randomUUID(),
      tenantId,
      state: 'pending',
      createdAt: now.toISOString(),
      decidedBy: null,
      decidedAt: null,
      grantId: null,
    };
    checkGrantable(request, now);
    await commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, `access-requests:${tenantId}:${asked.user}`);
      const waiting = await countPending(manager, tenantId, asked.user, this.#pendingSince(now));
      if (waiting >= MAX_PENDING) {
        throw new FairleadError('RATE_LIMITED', `${MAX_PENDING} of your requests wait for a decision already`);
      }
      await insertAccessRequest(manager, request);
      const event = { ...aboutRequest(request, operatorOf(caller, asked.user)), why: asked.reason };
      await tell(this.runtime, manager, 'dev.fairlead.access-request.created.v1', event);
    });
    return request;
  }

  /** By id. */
  async list(tenantId: string, filter: AccessRequestFilter): Promise<Page<AccessRequest>> {
    const now = this.runtime.now();
    const times = { now, since: this.#pendingSince(now) };
    const rows = await read(this.runtime, (manager) =>
      listAccessRequests(manager, tenantId, { ...filter, ...times }, PAGE_ROWS),
    );
    const shown = rows.map((request) => ({ ...request, state: stateOf(request, now) }));
    return pageOf(shown, PAGE_ROWS, ({ id }) => id);
  }

  /**
   * An approval makes the grant in the same transaction; its time begins now. FORBIDDEN for who asked; CONFLICT if it was decided or lapsed before;
   * TOO_LARGE if the user has too many grants, QUOTA_EXCEEDED if the tenant has as many as it may; NOT_FOUND.
   */
  async decide(
    caller: Caller,
    tenantId: string,
    { id, by, approve }: { readonly id: string; readonly by: string; readonly approve: boolean },
  ): Promise<AccessRequest> {
    const quotas = await this.quotasOf(tenantId);
    return commit(this.runtime, async (manager) => {
      const asked = await lockAccessRequest(manager, tenantId, id);
      const decision = { by, approve, grantId: crypto.randomUUID() };
      const { request, grant } = decideRequest(asked, decision, this.runtime.now());
      const actor = operatorOf(caller, by);
      const about = aboutRequest(request, actor);
      if (grant) {
        await addGrant(this.runtime, manager, actor, { grant, quotas });
        const event = { ...about, grantId: grant.id };
        await tell(this.runtime, manager, 'dev.fairlead.access-request.approved.v1', event);
      } else await tell(this.runtime, manager, 'dev.fairlead.access-request.rejected.v1', about);
      await recordDecision(manager, request);
      return request;
    });
  }

  #pendingSince(now: Date): Date {
    return new Date(now.getTime() - PENDING_MS);
  }
}

/** Would the grant be one, if it were approved at once? */
function checkGrantable(request: AccessRequest, now: Date): void {
  const { clusters, role, narrowing, seconds, reason } = request;
  const subject = Subject.safeParse(subjectOfUser(request.user));
  if (!subject.success) throw new FairleadError('INVALID_ARGUMENT', 'nothing can be granted to a user of this name');
  const expiresAt = new Date(now.getTime() + seconds * 1_000).toISOString();
  const base = { subject: subject.data, effect: 'allow', groups: [], notBefore: null } as const;
  checkNewGrant({ ...base, groups: [], clusters, role, narrowing, expiresAt, reason }, now);
}

/** What all events of a request say. */
export function aboutRequest(request: AccessRequest, actor: Actor) {
  const { id: requestId, tenantId, user, clusters, role, narrowing, seconds } = request;
  const what = { requestId, user, clusters, role, narrowing, seconds };
  return { tenantId, subject: `access-request/${requestId}`, actor, reason: 'OK', ...what };
}

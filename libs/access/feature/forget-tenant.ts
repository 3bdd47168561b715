import { BUCKETS } from '@fairlead/contracts';
import { markChanged } from '@fairlead/events';
import { deleteTenantRows, grantKeysOfTenant, recordEnded } from '../store/ended-tenant-store.js';
import { commit, type Runtime } from './runtime.js';

/** Takes out all that could make somebody anybody in a tenant that registration has deleted. */
export class ForgetTenant {
  constructor(private readonly runtime: Runtime) {}

  /** Again: what came in between goes as well. The event is registration's, which deleted it. */
  async forget(tenantId: string): Promise<void> {
    await commit(this.runtime, async (manager) => {
      // From here on nobody is authenticated in it, whatever is added by one who was a moment ago.
      await recordEnded(manager, tenantId, this.runtime.now());
      await markChanged(manager, BUCKETS.grants, await grantKeysOfTenant(manager, tenantId));
      await deleteTenantRows(manager, tenantId);
    });
  }
}

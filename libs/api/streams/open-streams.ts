import type { Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { ConcurrencyLimit } from '@fairlead/limits';
import type { OnModuleDestroy } from '@nestjs/common';

export type StreamKind = 'tail' | 'export';

/** Of one replica at once. An export keeps the database busy; a tail waits. */
const LIMITS = {
  tail: { ofTenants: { total: 256, perKey: 64 }, ofUsers: { total: 256, perKey: 16 } },
  export: { ofTenants: { total: 16, perKey: 4 }, ofUsers: { total: 16, perKey: 4 } },
} as const;
const RETRY_AFTER_SECONDS = 10;

export interface OpenStream {
  /** Aborted once the process ends. */
  readonly draining: AbortSignal;
  /** Counts it against the limit no more. */
  close(): void;
}

/** How many streams there are, and that none is left when the process ends. */
export class OpenStreams implements OnModuleDestroy {
  readonly #draining = new AbortController();
  readonly #limits = { tail: limitsOf('tail'), export: limitsOf('export') };

  /** RATE_LIMITED; DRAINING. */
  open(kind: StreamKind, { tenantId, tokenId }: Principal): OpenStream {
    const { signal: draining } = this.#draining;
    if (draining.aborted) throw new FairleadError('DRAINING', 'this replica is shutting down');
    const { ofTenants, ofUsers } = this.#limits[kind];
    const ofTenant = ofTenants.take(tenantId);
    const ofUser = ofTenant && ofUsers.take(tokenId);
    if (!ofTenant || !ofUser) {
      ofTenant?.();
      throw new FairleadError('RATE_LIMITED', `too many streams of this kind are open (${kind})`, {
        details: { retryAfterSeconds: RETRY_AFTER_SECONDS, next: 'end one of them, or wait until one has ended' },
      });
    }
    const close = (): void => {
      ofTenant();
      ofUser();
    };
    return { draining, close };
  }

  onModuleDestroy(): void {
    this.#draining.abort(new FairleadError('DRAINING', 'this replica is shutting down'));
  }
}

function limitsOf(kind: StreamKind): { readonly ofTenants: ConcurrencyLimit; readonly ofUsers: ConcurrencyLimit } {
  const { ofTenants, ofUsers } = LIMITS[kind];
  return { ofTenants: new ConcurrencyLimit(ofTenants), ofUsers: new ConcurrencyLimit(ofUsers) };
}

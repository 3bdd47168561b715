import type { Bundle, Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Bundles, NewBundle } from './bundles.js';
import { fetchBundle, type FetchOptions } from './fetch-bundle.js';

/** Fetched at once by this process, each for another tenant: each may have 16 MiB in memory, and takes as long as its server likes. */
const MAX_FETCHES = 4;

/** Bundles that this service fetches itself. */
export class BundleImports {
  /** Tenants that something is fetched for. */
  readonly #running = new Set<string>();

  constructor(
    private readonly bundles: Bundles,
    private readonly options: FetchOptions,
  ) {}

  /** RATE_LIMITED while another one is fetched for the tenant, or several for others; otherwise as `fetchBundle` and `Bundles.store`. */
  async fromUrl(
    caller: Caller,
    tenantId: string,
    { url, ...spec }: Omit<NewBundle, 'origin'> & { readonly url: string },
  ): Promise<Bundle> {
    if (this.#running.has(tenantId)) {
      throw new FairleadError('RATE_LIMITED', 'another bundle is being fetched already; wait for it');
    }
    if (this.#running.size >= MAX_FETCHES) {
      throw new FairleadError('RATE_LIMITED', `${MAX_FETCHES} bundles are being fetched already; wait for one of them`);
    }
    this.#running.add(tenantId);
    try {
      const yaml = await fetchBundle(url, this.options);
      return await this.bundles.store(caller, tenantId, { ...spec, origin: originOf(url) }, () => yaml);
    } finally {
      this.#running.delete(tenantId);
    }
  }
}

/** Where it was fetched, for people to read: whatever may be a secret in it (a presigned query, a user, a fragment) is left out. */
export function originOf(url: string): string {
  const { origin, pathname } = new URL(url);
  // Escaped it may be longer than what came.
  return `${origin}${pathname}`.slice(0, 1_024);
}

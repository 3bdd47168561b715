import { keysRpc } from '@fairlead/contracts';
import type { Backend } from './backend.js';

const FRESH_MS = 60_000;

/** The root of the certificates that people's tools see. The last known one serves on while keys is away: it rarely changes. */
export class ServingRoot {
  #known: { readonly pem: string; readonly atMs: number } | undefined;

  constructor(
    private readonly backend: Backend,
    private readonly nowMs: () => number,
  ) {}

  /** PEM. UNAVAILABLE only if it was never known. */
  async pem(tenantId: string): Promise<string> {
    const known = this.#known;
    if (known && this.nowMs() - known.atMs < FRESH_MS) return known.pem;
    try {
      const { servingRoot } = await this.backend.read(keysRpc.trustBundle, tenantId, {});
      this.#known = { pem: servingRoot, atMs: this.nowMs() };
      return servingRoot;
    } catch (error) {
      if (known) return known.pem;
      throw error;
    }
  }
}

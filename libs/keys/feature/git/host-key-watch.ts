import type { Clock } from '@fairlead/clock';
import { RunLoop } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import type { StoredGitHost } from '../../store/git-host-store.js';
import type { HostKeys } from './host-keys.js';

/** Hosts that this process looks at at once. */
const SCANS = 8;
/** Of one tenant: its hosts may take as long as they like, and keep nobody else waiting. */
const SCANS_OF_A_TENANT = 2;
/** How soon a host that was added is looked at. */
const POLL_MS = 5_000;

interface HostKeyWatchOptions {
  /** How often each host is looked at. */
  readonly intervalMs: number;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** Looks at the SSH keys of every host again and again; dispose of it to stop. */
export function watchHostKeys(
  keys: Pick<HostKeys, 'takeDue' | 'observe'>,
  options: HostKeyWatchOptions,
): AsyncDisposable {
  return new HostKeyWatch(keys, options);
}

class HostKeyWatch implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #scans = new Map<StoredGitHost, Promise<void>>();
  readonly #loop: RunLoop;

  constructor(
    private readonly keys: Pick<HostKeys, 'takeDue' | 'observe'>,
    private readonly options: HostKeyWatchOptions,
  ) {
    const { intervalMs, logger, clock } = options;
    this.#loop = new RunLoop({
      intervalMs: Math.min(POLL_MS, intervalMs),
      work: () => this.#startScans(),
      onFailed: (error) => logger.warn('git_host.scan_failed', { err: error }),
      ...(clock ? { clock } : {}),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop[Symbol.asyncDispose]();
    await Promise.all(this.#scans.values());
  }

  /** As many as are due and there is room for. */
  async #startScans(): Promise<void> {
    while (this.#scans.size < SCANS && !this.#stop.signal.aborted) {
      const host = await this.keys.takeDue(this.options.intervalMs, this.#busyTenants());
      if (!host) return;
      const scan = this.keys.observe(host, this.#stop.signal).finally(() => {
        this.#scans.delete(host);
        // There is room for another one.
        this.#loop.wake();
      });
      this.#scans.set(host, scan);
    }
  }

  #busyTenants(): string[] {
    const tenants = [...this.#scans.keys()].map(({ tenantId }) => tenantId);
    return [...new Set(tenants)].filter((one) => tenants.filter((each) => each === one).length >= SCANS_OF_A_TENANT);
  }
}

/** How much of everything. The counts are fixed, so that all systems do the same work, unless one is very slow. */
export interface Scale {
  readonly downloadBytes: number;
  readonly uploadBytes: number;
  readonly pings: number;
  /** New connections, one after the other and 32 at the same time. */
  readonly connections: { readonly one: number; readonly many: number };
  /** Stalled readers and writers are beside pings for this long before memory is measured. */
  readonly stallMs: number;
  readonly idleTunnels: number;
  readonly idleAgents: number;
  /** Of each of what must never go wrong. */
  readonly tries: number;
  readonly aborts: number;
  /** At 50 ms. */
  readonly farPings: number;
  readonly farBytes: number;
  /** At the Kubernetes API door: requests in all, lists of 5 MB, watches that nothing happens on, and how long an agent has nothing to do. */
  readonly api: {
    readonly requests: number;
    readonly lists: number;
    readonly watches: number;
    readonly idleMs: number;
  };
  /** Through gateways that keep an audit, or none: requests of each job at most, and the slices in which gateways take turns. */
  readonly audit: { readonly requests: number; readonly slices: number; readonly sliceMs: number };
  /** Pings and connections stop after this, whatever their count. */
  readonly enoughMs: number;
  /** A job that takes longer fails. */
  readonly jobTimeoutMs: number;
  /** What a measurement of one system takes, on average of all: to say beforehand how long it will be. */
  readonly stepMs: number;
}

const MB = 1_000_000;

export const QUICK: Scale = {
  downloadBytes: 48 * MB,
  uploadBytes: 48 * MB,
  pings: 500,
  connections: { one: 60, many: 200 },
  stallMs: 3_000,
  idleTunnels: 200,
  idleAgents: 200,
  tries: 50,
  aborts: 5,
  farPings: 40,
  farBytes: 30 * MB,
  api: { requests: 1_000, lists: 3, watches: 200, idleMs: 40_000 },
  audit: { requests: 1_000, slices: 4, sliceMs: 300 },
  enoughMs: 1_000,
  jobTimeoutMs: 12_000,
  stepMs: 1_500,
};

export const FULL: Scale = {
  downloadBytes: 256 * MB,
  uploadBytes: 256 * MB,
  pings: 3_000,
  connections: { one: 300, many: 960 },
  stallMs: 15_000,
  idleTunnels: 1_000,
  idleAgents: 500,
  tries: 500,
  aborts: 20,
  farPings: 100,
  farBytes: 30 * MB,
  api: { requests: 20_000, lists: 20, watches: 1_000, idleMs: 60_000 },
  audit: { requests: 10_000, slices: 16, sliceMs: 300 },
  enoughMs: 3_000,
  jobTimeoutMs: 25_000,
  stepMs: 3_000,
};

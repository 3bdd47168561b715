import type { SystemName } from '../rows.js';

/** One way from the client to the server. */
export interface System {
  readonly name: SystemName;
  /** `https://host:port[/path]`: the load generator appends the path of the server's endpoint. */
  readonly target: string;
  readonly caPem: string;
  /** Value of the Authorization header, a secret; empty for none. */
  readonly authorization: string;
  /** The processes between client and server, whose CPU time counts; none for the direct way. */
  readonly pids: readonly number[];
}

import type { Check } from '@fairlead/observability';
import type { ClusterDoor, Door } from '../contract/schemas.js';

/** What controllers need to know of the configuration. A class, so that it can be injected. */
export class ApiSettings {
  /** Where people reach this API: scheme, host and port, no trailing slash. */
  readonly publicUrl: string;
  readonly doors: readonly Door[];
  /** The CONNECT doors. */
  readonly connectDoors: readonly Door[];
  /** Below which each cluster has a host name at the doors; undefined: nowhere. */
  readonly clusterDomain: string | undefined;
  /** Answers at once, from memory. */
  readonly readiness: () => readonly Check[];

  constructor(options: {
    publicUrl: string;
    doors: readonly Door[];
    connectDoors: readonly Door[];
    clusterDomain?: string | undefined;
    readiness: () => readonly Check[];
  }) {
    this.publicUrl = options.publicUrl.replace(/\/+$/, '');
    this.doors = options.doors;
    this.connectDoors = options.connectDoors;
    this.clusterDomain = options.clusterDomain;
    this.readiness = options.readiness;
  }

  /** Where a cluster's Kubernetes API is served. */
  doorsOf(cluster: string): ClusterDoor[] {
    const { clusterDomain: domain } = this;
    if (domain === undefined) return [...this.doors];
    return this.doors.map((door) => ({ ...door, byName: ownHost(door.url, `${cluster}.${domain}`) }));
  }
}

/** The same door, asked for by a cluster's own host name. */
function ownHost(doorUrl: string, host: string): string {
  const url = new URL(doorUrl);
  url.hostname = host;
  return url.origin;
}

import { FairleadError } from '@fairlead/errors';

/** Versions of the protocol that one end speaks: all from the oldest to the newest. */
export interface SpokenVersions {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * What this build speaks. The newest counts up with every change that an older peer would misunderstand; the one before it is
 * spoken for one minor release more, so that agents and gateways can be upgraded one after the other, in any order.
 */
export const PROTOCOL_VERSIONS: SpokenVersions = { oldest: 1, newest: 1 };

/** The newest version that both speak. VERSION_UNSUPPORTED, naming the end that is to be upgraded, if there is none. */
export function agreeOnVersion(agent: SpokenVersions, gateway: SpokenVersions = PROTOCOL_VERSIONS): number {
  const version = Math.min(agent.newest, gateway.newest);
  if (version >= Math.max(agent.oldest, gateway.oldest) && version > 0) return version;
  const range = ({ oldest, newest }: SpokenVersions): string =>
    oldest === newest ? `${newest}` : `${oldest} to ${newest}`;
  const remedy =
    agent.newest < gateway.oldest
      ? 'the agent is too old: import the cluster again, which brings a newer one: fairlead cluster import <name>'
      : 'this gateway is too old: upgrade the control plane first';
  throw new FairleadError(
    'VERSION_UNSUPPORTED',
    `the agent speaks protocol ${range(agent)}, this gateway ${range(gateway)}; ${remedy}`,
  );
}

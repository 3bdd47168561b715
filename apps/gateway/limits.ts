import type { ConnectLimits, KubeApiLimits } from '@fairlead/gateway';
import type { GatewayConfig } from './config.js';

const MEBIBYTE = 1024 ** 2;

/** The limits of the doors, as the environment has them. */
export function doorLimits(config: GatewayConfig): {
  readonly connectLimits: Partial<ConnectLimits>;
  readonly kubeApiLimits: Partial<KubeApiLimits>;
} {
  const heldBytes = config.FAIRLEAD_HELD_MIB * MEBIBYTE;
  const perIdentity = { heldBytes: config.FAIRLEAD_HELD_MIB_PER_IDENTITY * MEBIBYTE };
  const perCluster = { heldBytes: config.FAIRLEAD_HELD_MIB_PER_CLUSTER * MEBIBYTE };
  return {
    connectLimits: {
      total: config.FAIRLEAD_CONNECT_MAX_CONNECTIONS,
      waitingPerIdentity: config.FAIRLEAD_CONNECT_MAX_WAITING_PER_CLIENT,
      perIdentity: {
        ...perIdentity,
        connections: config.FAIRLEAD_CONNECT_MAX_PER_CLIENT,
        opensPerSecond: config.FAIRLEAD_CONNECT_OPENS_PER_SECOND_PER_CLIENT,
      },
      perCluster: {
        ...perCluster,
        connections: config.FAIRLEAD_CONNECT_MAX_PER_CLUSTER,
        opensPerSecond: config.FAIRLEAD_CONNECT_OPENS_PER_SECOND_PER_CLUSTER,
      },
      heldBytes,
      halfClosedStallMs: config.FAIRLEAD_CONNECT_STALL_SECONDS * 1_000,
    },
    kubeApiLimits: {
      total: config.FAIRLEAD_KUBE_API_MAX_REQUESTS,
      connectionsPerUser: config.FAIRLEAD_KUBE_API_MAX_CONNECTIONS_PER_USER,
      perIdentity: {
        ...perIdentity,
        connections: config.FAIRLEAD_KUBE_API_MAX_PER_USER,
        opensPerSecond: config.FAIRLEAD_KUBE_API_REQUESTS_PER_SECOND_PER_USER,
      },
      perCluster: {
        ...perCluster,
        connections: config.FAIRLEAD_KUBE_API_MAX_PER_CLUSTER,
        opensPerSecond: config.FAIRLEAD_KUBE_API_REQUESTS_PER_SECOND_PER_CLUSTER,
      },
      heldBytes,
    },
  };
}

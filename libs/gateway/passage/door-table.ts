import { DoorName, type PassageKind } from '@fairlead/contracts';

export type { DoorName };

/** How a door is told of: in the log, in metrics, and to whoever has used too much of it. */
export interface DoorRow {
  /** Event in the log of a passage that was carried, and of one that was refused or could not be. */
  readonly ended: string;
  readonly refused: string;
  /** What passages are counted in, by outcome. */
  readonly counter: { readonly name: string; readonly help: string };
  /** Whose limits they are, as messages begin. */
  readonly whose: string;
  /** What most of its passages are. */
  readonly kind: PassageKind;
  /** Who has failed once this replica has let a passage go on. */
  readonly beyond: 'agent' | 'target';
}

/** The doors of a replica: one row each, and a folder of `doors/`. */
export const DOORS = {
  connect: {
    ended: 'connect.closed',
    refused: 'connect.refused',
    counter: {
      name: 'fairlead_gateway_connect_connections_total',
      help: 'Connections at the CONNECT door, by outcome (ok, once the connection ended, or an error code).',
    },
    whose: 'this client',
    kind: 'tunnel',
    beyond: 'agent',
  },
  'kube-api': {
    ended: 'kube.request',
    refused: 'kube.request.failed',
    counter: {
      name: 'fairlead_gateway_kube_requests_total',
      help: 'Requests at the Kubernetes API door, by status class or the code of our own refusal.',
    },
    whose: 'this user',
    kind: 'request',
    beyond: 'agent',
  },
  egress: {
    ended: 'egress.closed',
    refused: 'egress.refused',
    counter: {
      name: 'fairlead_gateway_egress_connections_total',
      help: 'Connections out of clusters, by outcome (ok, once the connection ended, or an error code).',
    },
    whose: 'this cluster',
    kind: 'egress',
    beyond: 'target',
  },
} as const satisfies Record<DoorName, DoorRow>;

export const DOOR_NAMES = DoorName.options;

import type { Cluster } from '../session/answers.js';

/** A cluster as the API shows one that enrolled once and is away, with nothing else said of it. */
export const SOME_CLUSTER: Cluster = {
  id: 'x',
  name: 'demo',
  labels: {},
  links: 2,
  targets: [],
  egress: [],
  gitops: false,
  manifestValues: {},
  createdAt: '2026-11-10T12:00:00.000Z',
  enrolledAt: '2026-11-10T13:00:00.000Z',
  generation: 1,
  facts: null,
  presence: {
    state: 'offline',
    replicas: [],
    liveReplicas: 2,
    since: null,
    agents: [],
    duplicate: null,
    lastError: null,
  },
};

import type { ClientEntry, ClusterEntry } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { GrantsIndex } from '../../access/grants-index.js';
import type { Directory } from '../../directory.js';
import { chooseCluster } from './admission.js';

const cluster: ClusterEntry = { tenantId: 't', clusterId: 'c', name: 'shop', generation: 1, labels: {} };
const client: ClientEntry = { tenantId: 't', clientId: 'p', name: 'prometheus', clusterIds: null };

function directoryThatIs(fresh: boolean): Directory {
  const known = {
    fresh,
    grants: new GrantsIndex(),
    clusterByName: () => cluster,
    clustersOf: () => [cluster],
  };
  return known as unknown as Directory;
}

it('opens nothing once what this replica knows is an hour old, whoever the client is', () => {
  expect(chooseCluster(directoryThatIs(true), client, 'shop.example', undefined)).toBe(cluster);
  expect(() => chooseCluster(directoryThatIs(false), client, 'shop.example', undefined)).toThrow(
    expect.objectContaining({ code: 'UNAVAILABLE', message: expect.stringContaining('for an hour') as string }),
  );
});

import { FairleadError } from '@fairlead/errors';
import { instructionsOf, markReady, missingKeys } from '../domain/key-plan.js';
import type { DeployKeyState } from '../domain/key-state.js';
import type { StoredCluster } from '../store/cluster-store.js';
import type { StoredRepository } from '../store/repository-store.js';
import type { KeysPort } from './keys-port.js';

export interface AskedKeys {
  readonly state: DeployKeyState;
  /** What somebody has to do before a key is in its repository. */
  readonly waitsFor: string | null;
  /** Ask again. */
  readonly pending: boolean;
}

/** Has keys add what the Git host is not known to have, and takes down what it has by now. */
export async function askForKeys(
  keys: KeysPort,
  { id: clusterId, name: clusterName, tenantId, report }: StoredCluster,
  planned: DeployKeyState,
  repository: StoredRepository | undefined,
): Promise<AskedKeys> {
  let asked: AskedKeys = { state: planned, waitsFor: null, pending: false };
  if (!repository) return asked;
  const { id: repositoryId, hostId, path } = repository;
  for (const { number, publicKey } of missingKeys(planned)) {
    const request = { clusterId, repositoryId, number, hostId, path, clusterName, publicKey };
    const { state, instructions, problem } = await keys.wantDeployKey(tenantId, request);
    if (state === 'present') asked = { ...asked, state: markReady(asked.state, number) };
    else if (state === 'by-hand') asked = { ...asked, state: markReady(asked.state, number, instructions) };
    else asked = { ...asked, pending: true, waitsFor: problem?.message ?? asked.waitsFor };
  }
  return { ...asked, waitsFor: instructionsOf(asked.state, report?.publicKeys ?? []) ?? asked.waitsFor };
}

export async function dropKeys(
  keys: KeysPort,
  { id: clusterId, tenantId }: StoredCluster,
  drops: DeployKeyState['drops'],
): Promise<void> {
  for (const { repositoryId, number } of drops) {
    try {
      await keys.dropDeployKey(tenantId, { clusterId, repositoryId, number });
    } catch (error) {
      // It never was, or is no more.
      if (!(error instanceof FairleadError && error.code === 'NOT_FOUND')) throw error;
    }
  }
}

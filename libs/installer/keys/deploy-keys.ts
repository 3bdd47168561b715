import type { GitOpsSpec } from '@fairlead/desired-state';
import { OWN } from '../names.js';
import type { OwnObjects } from '../state/own-objects.js';
import { createSshKey, type SshKeyPair } from './openssh-key.js';

export interface DeployKey extends SshKeyPair {
  readonly number: number;
}

/**
 * The cluster's keys that are wanted, made where there is none yet; those that are wanted no more are deleted. They stand in one Secret
 * of the installer's namespace, and nowhere else but in the Secret of the source that uses one. CONFLICT if another installer wrote it.
 */
export async function deployKeys(own: OwnObjects, { current, next }: GitOpsSpec['deployKey']): Promise<DeployKey[]> {
  const { values, version } = await own.readSecret(OWN.keys);
  const numbers = next === null || next === current ? [current] : [current, next];
  const keys = numbers.map((number) => ({ number, ...(held(values, number) ?? createSshKey()) }));
  const wanted = Object.fromEntries(
    keys.flatMap(({ number, privateKey, publicKey }) => [
      [`${number}.key`, privateKey],
      [`${number}.pub`, publicKey],
    ]),
  );
  const same =
    Object.keys(values).length === Object.keys(wanted).length && numbers.every((number) => held(values, number));
  // Kept before it is told: a public key in a report that nobody has the private half of would be added for nothing.
  if (!same) await own.writeSecret(OWN.keys, wanted, version);
  return keys;
}

function held(values: Readonly<Record<string, string>>, number: number): SshKeyPair | null {
  const privateKey = values[`${number}.key`];
  const publicKey = values[`${number}.pub`];
  return privateKey === undefined || publicKey === undefined ? null : { privateKey, publicKey };
}

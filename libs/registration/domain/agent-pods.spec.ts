import type { AgentPod } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { duplicateAmong } from './agent-pods.js';

let pods = 0;
const pod = (change: Partial<AgentPod> = {}): { readonly pod: AgentPod } => {
  pods += 1;
  const of = { clusterUid: 'one', name: `agent-${pods}`, uid: `uid-${pods}`, node: '', replicas: 2 };
  return { pod: { ...of, ...change } };
};
const silent = { pod: null };

it.each([
  ['one process, whatever it says', [silent], null],
  ['the pods of one Deployment', [pod(), pod()], null],
  ['more than it has', [pod(), pod(), pod()], 'surplus'],
  ['one in another cluster', [pod(), pod({ clusterUid: 'two' })], 'elsewhere'],
  ['one that does not say where it is', [pod(), silent], 'elsewhere'],
  ['two that do not', [silent, silent], 'elsewhere'],
  ['one pod twice', [pod({ uid: 'same' }), pod({ uid: 'same' })], 'same-pod'],
  ['three where one says that a hundred belong there', [pod(), pod(), pod({ replicas: 100 })], 'surplus'],
])('%s', (_what, agents, expected) => {
  expect(duplicateAmong(agents)).toBe(expected);
});

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findBinary, podManifest, startKubelet } from '@fairlead/testbed';
import { messageOf } from '@fairlead/errors';
import type { StackLog } from '../events.js';
import { componentUnit } from '../process/component-unit.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { DemoPod } from '../stack.js';
import { linkLog, type StateDir } from '../state/state-dir.js';
import { adminKubectl, type AdminKubectl } from './admin-kubectl.js';

interface DemoNodeOptions extends AdminKubectl {
  readonly group: ProcessGroup;
  readonly state: StateDir;
  readonly log: StackLog;
}

const NODE = 'node-1';
const POD = 'hello';
const PORT = 8080;
/** Says where it was reached, and counts the seconds in its log. */
const PROGRAM = `
const { createServer } = require('node:http');
createServer((_, answer) => answer.end('hello from the pod\\n')).listen(${PORT}, process.env.POD_IP);
let seconds = 0;
setInterval(() => console.log('up for ' + (seconds += 1) + ' s'), 1000);
`;

/**
 * Joins a node to the demo cluster and runs one pod there, for kubectl's exec, logs, cp and port-forward: a process of this machine, like all of the
 * demo. Where the node or its pod does not come up, says why: the rest of the demo does without.
 */
export async function startDemoNode(options: DemoNodeOptions): Promise<DemoPod | { readonly unavailable: string }> {
  const { group, kube, log } = options;
  const say = (text: string): void => log({ kind: 'progress', text });
  if (kube.pkiDir === undefined) return { unavailable: 'the demo cluster is not one that npm start runs by itself' };
  try {
    await findBinary('test-kubelet', { log: say, signal: group.signal });
    await joinNode(options, say);
    const manifest = podManifest({ name: POD, node: NODE, image: POD, args: [PROGRAM], restartPolicy: 'Always' });
    await adminKubectl(options, ['apply', '-f', '-'], manifest);
    await adminKubectl(options, ['wait', '--for=condition=Ready', `pod/${POD}`, '--timeout=25s']);
  } catch (error) {
    if (group.signal.aborted) throw error;
    return { unavailable: messageOf(error) };
  }
  return { name: POD };
}

async function joinNode({ group, state, kube }: DemoNodeOptions, say: (text: string) => void): Promise<void> {
  const dataDir = state.file('node');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const logPath = join(dataDir, 'kubelet.log');
  linkLog(state, 'kubelet', logPath);
  const images = { [POD]: { program: [process.execPath, '-e'], env: { POD_IP: '$(POD_IP)' } } };
  const start = () => startKubelet({ dataDir, kube, nodeName: NODE, images, log: say, signal: group.signal });
  await group.start(componentUnit({ name: 'kubelet', logPaths: [logPath], start }), 'edge');
}

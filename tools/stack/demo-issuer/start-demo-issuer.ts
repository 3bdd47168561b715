import { join } from 'node:path';
import type { Administrator } from '../access/administrator.js';
import { at } from '../control-plane/service-environments.js';
import type { StackLog } from '../events.js';
import { baseEnvironment } from '../process/base-environment.js';
import { nodeUnit } from '../process/node-unit.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { DemoLogin } from '../stack.js';
import { REPOSITORY } from '../state/repository.js';
import type { StateDir } from '../state/state-dir.js';
import { DEMO_CLIENT_ID } from './client-id.js';
import { DEMO_USERS } from './users.js';

const NAME = 'demo';
const MAIN = join(REPOSITORY, 'tools', 'stack', 'dist', 'demo-issuer', 'main.js');

interface DemoIssuerParts {
  readonly group: ProcessGroup;
  readonly state: StateDir;
  readonly port: number;
  readonly log: StackLog;
}

/** Starts the demo issuer as a process, on this machine alone. */
export async function startDemoIssuerProcess({ group, state, port, log }: DemoIssuerParts): Promise<DemoLogin> {
  const url = `http://${at(port)}`;
  const unit = nodeUnit({
    name: 'demo-issuer',
    main: MAIN,
    args: [String(port)],
    env: () => Promise.resolve(baseEnvironment()),
    cwd: REPOSITORY,
    logPath: state.logFile('demo-issuer'),
    log,
    healthUrl: url,
  });
  await group.start(unit, 'edge');
  return { name: NAME, url, users: DEMO_USERS };
}

/** Has people log in there. */
export function addDemoIssuer(admin: Administrator, { name, url }: DemoLogin): Promise<void> {
  return admin.addIssuer({ name, url, clientId: DEMO_CLIENT_ID });
}

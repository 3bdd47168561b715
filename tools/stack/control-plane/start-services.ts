import { writeFileSync } from 'node:fs';
import type { StackLog } from '../events.js';
import { nodeUnit, runToEnd } from '../process/node-unit.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { Unit } from '../process/unit.js';
import { REPOSITORY, entryOf, type AppName } from '../state/repository.js';
import { readServingRoot } from './nats-tasks.js';
import {
  apiEnvironment,
  at,
  gatewayEnvironment,
  gitopsEnvironment,
  keysEnvironment,
  registrationEnvironment,
  type ControlPlane,
} from './service-environments.js';

type Environment = Readonly<Record<string, string>>;

const MIGRATION_TIMEOUT_MS = 120_000;

/**
 * Migrations, keys, registration and gitops, then api and gateways side by side: whoever is asked for something runs before the one
 * who asks. Leaves the root of the serving certificates in `caFile`.
 */
export async function startServices(
  plane: ControlPlane,
  group: ProcessGroup,
  caFile: string,
  log: StackLog,
): Promise<void> {
  const { ports } = plane;
  const keys = keysEnvironment(plane);
  const registration = registrationEnvironment(plane);
  const gitops = gitopsEnvironment(plane);
  const progress = (text: string): void => log({ kind: 'progress', text });
  progress('bringing the database schemas up to date');
  await Promise.all([
    migrate(plane, 'keys', keys, log),
    migrate(plane, 'registration', registration, log),
    migrate(plane, 'gitops', gitops, log),
  ]);
  progress('starting keys, registration and gitops');
  await group.start(service(plane, 'keys', keys, ports.keysHealth, log), 'service');
  writeFileSync(caFile, await readServingRoot(plane.state, plane.natsUrl, group.signal));
  await Promise.all([
    group.start(service(plane, 'registration', registration, ports.registrationHealth, log), 'service'),
    group.start(service(plane, 'gitops', gitops, ports.gitopsHealth, log), 'service'),
  ]);
  progress('starting the admin API and the gateways');
  const gateways = ports.gateways.map(({ health }, index) => {
    const name = plane.gateways[index] ?? '';
    return service(plane, 'gateway', gatewayEnvironment(plane, index), health, log, name);
  });
  const edge = [service(plane, 'api', apiEnvironment(plane), ports.apiHealth, log), ...gateways];
  await Promise.all(edge.map((unit) => group.start(unit, 'edge')));
}

function service(
  plane: ControlPlane,
  app: AppName,
  env: Environment,
  healthPort: number,
  log: StackLog,
  name: string = app,
): Unit {
  return nodeUnit({
    name,
    main: entryOf(app),
    env: () => Promise.resolve(env),
    cwd: REPOSITORY,
    logPath: plane.state.logFile(name),
    log,
    healthUrl: `http://${at(healthPort)}`,
  });
}

function migrate(
  plane: ControlPlane,
  app: 'gitops' | 'keys' | 'registration',
  env: Environment,
  log: StackLog,
): Promise<void> {
  const name = `${app}-migrate`;
  const logPath = plane.state.logFile(name);
  const run = {
    name,
    main: entryOf(app),
    args: ['migrate'],
    env: () => Promise.resolve(env),
    cwd: REPOSITORY,
    logPath,
    log,
  };
  return runToEnd(run, MIGRATION_TIMEOUT_MS);
}

import { writeFileSync } from 'node:fs';
import { SERVICES, SERVICE_NAMES, SINGLETONS, type Service, type Singleton } from '@fairlead/contracts';
import type { StackLog } from '../events.js';
import { nodeUnit, runToEnd } from '../process/node-unit.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { Unit } from '../process/unit.js';
import { REPOSITORY, entryOf, type AppName } from '../state/repository.js';
import { readServingRoot } from './nats-tasks.js';
import { at, environmentOf, gatewayEnvironment, type ControlPlane } from './service-environments.js';

type Environment = Readonly<Record<string, string>>;

const MIGRATION_TIMEOUT_MS = 120_000;

/** The others ask it from their first moment on. */
const FIRST = 'keys';

/**
 * Migrations, `keys`, the other services, then api and gateways side by side: whoever is asked for something runs before the one
 * who asks. Leaves the root of the serving certificates in `caFile`.
 */
export async function startServices(
  plane: ControlPlane,
  group: ProcessGroup,
  caFile: string,
  log: StackLog,
): Promise<void> {
  const progress = (text: string): void => log({ kind: 'progress', text });
  const others = SERVICE_NAMES.filter((role) => role !== FIRST);
  const singleton = (role: Singleton): Unit =>
    service(plane, role, environmentOf(plane, role), plane.ports[`${role}Health`], log);
  progress('bringing the database schemas up to date');
  await Promise.all(SERVICE_NAMES.map((role) => migrate(plane, role, environmentOf(plane, role), log)));
  progress(`starting ${[FIRST, ...others].join(', ')}`);
  await group.start(singleton(FIRST), 'service');
  writeFileSync(caFile, await readServingRoot(plane.state, plane.natsUrl, group.signal));
  await Promise.all(others.map((role) => group.start(singleton(role), 'service')));
  progress('starting the admin API and the gateways');
  const gateways = plane.ports.gateways.map(({ health }, index) => {
    const name = plane.gateways[index] ?? '';
    return service(plane, 'gateway', gatewayEnvironment(plane, index), health, log, name);
  });
  const single = SINGLETONS.filter((role) => SERVICES[role].tier === 'edge').map(singleton);
  await Promise.all([...single, ...gateways].map((unit) => group.start(unit, 'edge')));
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

function migrate(plane: ControlPlane, app: Service, env: Environment, log: StackLog): Promise<void> {
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

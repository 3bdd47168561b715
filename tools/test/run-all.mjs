// `npm test`: everything. Static checks, unit, integration on real components, e2e with real processes.
import { existsSync } from 'node:fs';
import { check, close, run, vitest } from './steps.mjs';

const nx = (target) => check(target, 'nx', ['run', `fairlead:${target}`]);

if (await nx('compile')) {
  for (const target of ['lint', 'format', 'boundaries', 'drift']) await nx(target);
  await vitest('unit');
  await vitest('integration');
  // The Docker providers need an engine. Without one nothing else is lost: the last provider builds what they would run.
  if (await hasDocker()) await vitest('docker');
  else console.log('\nno Docker engine here: the tests of the Docker providers are left out');
  await vitest('e2e');
}
close();

async function hasDocker() {
  return (
    (process.env.DOCKER_HOST !== undefined || existsSync('/var/run/docker.sock')) &&
    (await run('docker', ['info', '--format', '{{.ServerVersion}}'])) === 0
  );
}

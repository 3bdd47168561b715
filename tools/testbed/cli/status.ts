import { logToStderr } from '../log.js';
import { reportStatus, type ComponentStatus } from '../report.js';
import { readSettings } from '../settings.js';

/** Prints the status of every component; the exit code is 1 when one is missing. */
export async function status(output: 'text' | 'json'): Promise<void> {
  const settings = readSettings();
  const report = await reportStatus({ settings, env: process.env, log: logToStderr });
  if (output === 'json') console.log(JSON.stringify({ cacheDir: settings.cacheDir, components: report }, undefined, 2));
  else console.log([...report.map(describe), `cache: ${settings.cacheDir}`].join('\n'));
  if (report.some((component) => component.state === 'missing')) process.exitCode = 1;
}

function describe({ component, version, provider, state, detail, passed }: ComponentStatus): string {
  const lines = [`${`${component} ${version}`.trim().padEnd(24)} ${state.padEnd(11)} ${provider ?? '-'}: ${detail}`];
  for (const { provider: other, why } of passed) lines.push(`${' '.repeat(24)} not ${other}: ${why}`);
  return lines.join('\n');
}

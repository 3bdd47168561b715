import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { run } from './run-agent.js';

const [, , command, ...args] = process.argv;
if (command === 'check') void checkSurroundings(args);
else void runProcess({ name: 'agent', readConfig, run });

/** Loaded when it is asked for, which is seldom. (No top-level `await`: the bundle is CommonJS.) */
async function checkSurroundings(options: readonly string[]): Promise<void> {
  const { check } = await import('./check.js');
  process.exitCode = await check(options);
}

import { runProcess } from '@fairlead/config';
import { replacePeerReading } from '@fairlead/pki/peer-reading';
import { readConfig } from './config.js';
import { run } from './run-agent.js';

/** What is left of ending, once what ran through it is done. */
const ENDS_MS = 8_000;
const [, , command, ...args] = process.argv;
if (command === 'check') void checkSurroundings(args);
else
  void runProcess({
    name: 'agent',
    readConfig,
    run,
    shutdownMs: (config) => config.FAIRLEAD_DRAIN_SECONDS * 1_000 + ENDS_MS,
  });

/** Loaded when it is asked for, which is seldom. (No top-level `await`: the bundle is CommonJS.) */
async function checkSurroundings(options: readonly string[]): Promise<void> {
  replacePeerReading();
  const { check } = await import('./check.js');
  process.exitCode = await check(options);
}

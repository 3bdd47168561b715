import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';

const [, , command, ...args] = process.argv;
if (command === 'check') {
  const { check } = await import('./check.js');
  process.exitCode = await check(args);
} else {
  const { run } = await import('./run-agent.js');
  void runProcess({ name: 'agent', readConfig, run });
}

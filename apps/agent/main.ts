import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { run } from './run-agent.js';

void runProcess({ name: 'agent', readConfig, run });

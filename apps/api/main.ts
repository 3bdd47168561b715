import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { runApi } from './run-api.js';

await runProcess({ name: 'api', readConfig, run: runApi });

import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { runApi } from './run-api.js';

void runProcess({ name: 'api', readConfig, run: runApi });

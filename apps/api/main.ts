import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { runApi } from './run-api.js';
import { printServingRoot } from './serving-root.js';

void runProcess({ name: 'api', readConfig, run: runApi, commands: { 'serving-root': printServingRoot } });

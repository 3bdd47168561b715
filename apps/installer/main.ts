import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { run } from './run-installer.js';

void runProcess({ name: 'installer', readConfig, run });

import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { runGateway } from './run-gateway.js';

void runProcess({ name: 'gateway', readConfig, run: runGateway });

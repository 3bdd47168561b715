import 'reflect-metadata';
import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { migrate, serve } from './serve.js';

void runProcess({ name: 'gitops', readConfig, run: serve, commands: { migrate } });

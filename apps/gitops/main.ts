import 'reflect-metadata';
import { runService } from '@fairlead/service';
import { gitops } from './serve.js';

void runService(gitops);

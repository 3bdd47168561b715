import 'reflect-metadata';
import { runService } from '@fairlead/service';
import { audit } from './serve.js';

void runService(audit);

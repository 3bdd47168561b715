import 'reflect-metadata';
import { runService } from '@fairlead/service';
import { registration } from './serve.js';

void runService(registration);

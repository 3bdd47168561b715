import 'reflect-metadata';
import { runService } from '@fairlead/service';
import { keys } from './serve.js';

void runService(keys);

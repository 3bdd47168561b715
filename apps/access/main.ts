import 'reflect-metadata';
import { runService } from '@fairlead/service';
import { access } from './serve.js';

void runService(access);

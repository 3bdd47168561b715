import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { runApi } from './run-api.js';
import { printServingRoot } from './serving-root.js';

/** What is left of ending, once nobody new is accepted. */
const ENDS_MS = 20_000;

void runProcess({
  name: 'api',
  readConfig,
  run: runApi,
  shutdownMs: (config) => config.FAIRLEAD_API_GRACE_SECONDS * 1_000 + ENDS_MS,
  commands: { 'serving-root': printServingRoot },
});

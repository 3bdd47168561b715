import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { runGateway } from './run-gateway.js';

/** What runs has 5 s once the doors are closed; then links end, and the rest of the audit spool is handed on. */
const ENDS_MS = 30_000;

void runProcess({
  name: 'gateway',
  readConfig,
  run: runGateway,
  shutdownMs: (config) => config.FAIRLEAD_DOOR_GRACE_SECONDS * 1_000 + ENDS_MS,
});

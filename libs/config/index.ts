export { COLLECTING_OF_SERVER, collectWhenIdle, type Collecting } from './collect-when-idle.js';
export {
  Secret,
  commaList,
  dnsDomain,
  hostPort,
  networkList,
  isPrivate,
  loadConfig,
  port,
  printable,
  secretFile,
  shownMode,
  splitHostPort,
  type FileAccess,
} from './load-config.js';
export { runProcess, untilAborted, type ProcessDefinition } from './run-process.js';
export { tracingSettings, tracingVariables } from './tracing.js';

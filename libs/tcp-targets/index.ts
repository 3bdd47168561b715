export { TcpTargets, type TcpTarget, type TcpTargetOptions } from './tcp-targets.js';
export type { Resolve } from './name-lookups.js';

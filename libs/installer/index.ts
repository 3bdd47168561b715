/** In a cluster: installs and repairs its GitOps tool from signed desired state (README.md). */
export { runInstaller, type RunOptions } from './run-installer.js';
export { Installer, type InstallerOptions } from './installer.js';
export { createInstallerMetrics, type InstallerMetrics } from './installer-metrics.js';
export { LADDER_LIMITS, type LadderLimits } from './ladder/ladder-state.js';
export { argocd } from './drivers/argocd/argocd.js';
export { flux } from './drivers/flux/flux.js';
export type { PreflightOptions } from './preflight/preflight.js';
export type { ToolDriver } from './drivers/driver.js';
export type { Installed } from './trust/accept-handover.js';

// What those need who carry it unread: nothing of it verifies, or loads what does.
export { BundleLimits } from './bundle-limits.js';
export { Handover, HANDOVER } from './handover.js';
export { MAX_REPORT_BYTES } from './installer-report.js';

// Parts of a replica, for tests that put together only some of it.
export { Directory } from './directory.js';
export { createGatewayMetrics } from './gateway-metrics.js';
export { EnrolmentLimiter } from './link/enrolment-limiter.js';
export { createLinkServer } from './link/link-server.js';
export { RenewingCertificate } from './renewing-certificate.js';
export { TrustStore } from './trust-store.js';

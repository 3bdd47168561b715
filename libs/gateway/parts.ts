// Parts of a replica, for tests that put together only some of it.
export { GrantsDirectory } from './access/grants-directory.js';
export { decideRequest } from './access/decide-request.js';
export { Directory } from './directory.js';
export { createGatewayMetrics } from './status/gateway-metrics.js';
export { EnrolmentLimiter } from './link/enrolment-limiter.js';
export { createLinkServer } from './link/link-server.js';
export { RenewingCertificate } from './certificates/renewing-certificate.js';
export { TrustStore } from './trust/trust-store.js';

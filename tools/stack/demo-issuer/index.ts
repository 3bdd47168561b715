export { DEMO_CLIENT_ID } from './client-id.js';
export { issuerKey, startDemoIssuer, type DemoIssuer, type DemoIssuerOptions } from './demo-issuer.js';
export { DEMO_USERS, type DemoUser } from './users.js';

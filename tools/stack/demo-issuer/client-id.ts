/** The demo issuer's only client, which has no secret. */
export const DEMO_CLIENT_ID = 'fairlead';

import { expect, it } from 'vitest';
import { readInvitation } from './invitation.js';

const TOKEN = `fl1.${'ab'.repeat(32)}.id.secret`;
const DEPLOYMENT = `
kind: Deployment
spec:
  template:
    spec:
      containers:
        - env:
            - { name: FAIRLEAD_ENDPOINTS, value: '127.0.0.1:1,127.0.0.1:2' }
            - { name: FAIRLEAD_ROOT_PINS, value: abab }
            - { name: FAIRLEAD_TRUST_DOMAIN, value: fairlead.local }
            - { name: FAIRLEAD_ALLOW_TARGETS, value: '127.0.0.1/32:1-65535' }
            - { name: POD_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
`;
const SECRETS = `
kind: Secret
metadata: { name: identity }
---
kind: Secret
data: { token: ${Buffer.from(TOKEN).toString('base64')} }
`;

it('reads what an agent is told', () => {
  expect(readInvitation(`kind: Namespace\n---${SECRETS}---${DEPLOYMENT}`)).toEqual({
    endpoints: '127.0.0.1:1,127.0.0.1:2',
    pins: 'abab',
    trustDomain: 'fairlead.local',
    targets: '127.0.0.1/32:1-65535',
    token: TOKEN,
  });
});

it('names what is missing, and never repeats the token', () => {
  expect(() => readInvitation(DEPLOYMENT)).toThrow('holds no bootstrap token');
  expect(() => readInvitation(SECRETS)).toThrow(/^the import manifest does not say FAIRLEAD_ENDPOINTS$/);
});

import { expect, it } from 'vitest';
import { endpointsOf, readConfig } from './config.js';

const env = {
  FAIRLEAD_ENDPOINTS: 'gateway:443',
  FAIRLEAD_IDENTITY: 'file:/identity',
  KUBERNETES_SERVICE_HOST: '10.0.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  FAIRLEAD_HEALTH_LISTEN: '127.0.0.1:0',
};

it('an agent that is told no targets allows none', () => {
  expect(readConfig(env).FAIRLEAD_ALLOW_TARGETS).toEqual([]);
});

it('rules are a list with commas', () => {
  const rules = readConfig({ ...env, FAIRLEAD_ALLOW_TARGETS: '10.0.0.0/8:10250, *.shop.svc:443,[fd00::/8]:*' });
  expect(rules.FAIRLEAD_ALLOW_TARGETS.map(({ kind }) => kind)).toEqual(['block', 'host', 'block']);
});

it('each bad rule is named, with what to write instead, in one error', () => {
  const read = (): unknown =>
    readConfig({ ...env, FAIRLEAD_ALLOW_TARGETS: '10.0.0.0/8:443,10.0.0.1/8:443,fd00::/8:1' });
  expect(read).toThrow(/FAIRLEAD_ALLOW_TARGETS: the target rule "10\.0\.0\.1\/8:443" is not valid: .*10\.0\.0\.0\/8/);
  expect(read).toThrow(/FAIRLEAD_ALLOW_TARGETS: the target rule "fd00::\/8:1" is not valid: .*brackets/);
});

it('the trust domain of the manifest is read, and must be one', () => {
  const trustDomain = (value: string) => readConfig({ ...env, FAIRLEAD_TRUST_DOMAIN: value }).FAIRLEAD_TRUST_DOMAIN;
  expect(trustDomain('fairlead.local')).toBe('fairlead.local');
  expect(() => trustDomain('Not A Domain')).toThrow(/FAIRLEAD_TRUST_DOMAIN/);
});

it('all agents call gateways by one name, unless they are told another', () => {
  const names = (more = {}) => endpointsOf(readConfig({ ...env, ...more })).map(({ serverName }) => serverName);
  expect(new Set(names())).toEqual(new Set(['link.fairlead.invalid']));
  expect(new Set(names({ FAIRLEAD_SERVER_NAME: 'Link.example.com' }))).toEqual(new Set(['link.example.com']));
  expect(() => names({ FAIRLEAD_SERVER_NAME: 'not a name' })).toThrow('FAIRLEAD_SERVER_NAME: expected a DNS name');
});

it('an agent listens for nothing that goes out unless it is told ports, and each bad one is named', () => {
  expect(readConfig(env).FAIRLEAD_EGRESS).toEqual([]);
  expect(readConfig({ ...env, FAIRLEAD_EGRESS: '2222=git.example.com:22' }).FAIRLEAD_EGRESS).toEqual([
    { port: 2222, upstream: { host: 'git.example.com', port: 22 } },
  ]);
  const read = (): unknown =>
    readConfig({ ...env, FAIRLEAD_EGRESS: 'git.example.com:22', FAIRLEAD_EGRESS_ADDRESS: 'x' });
  expect(read).toThrow(/FAIRLEAD_EGRESS: "git\.example\.com:22" is no egress port/);
  expect(read).toThrow('FAIRLEAD_EGRESS_ADDRESS');
});

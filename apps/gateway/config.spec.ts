import { DEFAULT_CONNECT_LIMITS, DEFAULT_KUBE_API_LIMITS } from '@fairlead/gateway';
import { expect, it } from 'vitest';
import { doorCertificate, readConfig } from './config.js';
import { doorLimits } from './limits.js';

const env = {
  FAIRLEAD_NATS_URL: 'nats://127.0.0.1:4222',
  FAIRLEAD_NATS_SEED_FILE: '/seed',
  FAIRLEAD_HEALTH_LISTEN: '127.0.0.1:0',
  FAIRLEAD_LINK_LISTEN: '127.0.0.1:0',
  FAIRLEAD_RELAY_LISTEN: '127.0.0.1:0',
  FAIRLEAD_DOOR_LISTEN: '127.0.0.1:0',
  FAIRLEAD_GATEWAY_SERVING_NAMES: 'door',
  FAIRLEAD_LINK_ENDPOINTS: 'gateway:443',
};

it('limits that nobody sets are those of the library', () => {
  const { connectLimits, kubeApiLimits } = doorLimits(readConfig(env));
  expect({ ...DEFAULT_CONNECT_LIMITS, ...connectLimits }).toEqual(DEFAULT_CONNECT_LIMITS);
  expect({ ...DEFAULT_KUBE_API_LIMITS, ...kubeApiLimits }).toEqual(DEFAULT_KUBE_API_LIMITS);
});

it('each limit can be set, and what is no limit is named', () => {
  const { connectLimits, kubeApiLimits } = doorLimits(
    readConfig({
      ...env,
      FAIRLEAD_CONNECT_MAX_PER_CLIENT: '7',
      FAIRLEAD_KUBE_API_REQUESTS_PER_SECOND_PER_USER: '8',
      FAIRLEAD_HELD_MIB: '9',
    }),
  );
  expect(connectLimits).toMatchObject({ perIdentity: { connections: 7 }, heldBytes: 9 * 1024 ** 2 });
  expect(kubeApiLimits).toMatchObject({ perIdentity: { opensPerSecond: 8 }, heldBytes: 9 * 1024 ** 2 });
  const read = (): unknown =>
    readConfig({ ...env, FAIRLEAD_CONNECT_MAX_PER_CLIENT: '0', FAIRLEAD_HELD_MIB: 'much', FAIRLEAD_DEBUG_VIEW: 'yes' });
  for (const name of ['FAIRLEAD_CONNECT_MAX_PER_CLIENT', 'FAIRLEAD_HELD_MIB', 'FAIRLEAD_DEBUG_VIEW']) {
    expect(read).toThrow(name);
  }
});

it('the doors of a replica that stops stay open for a few seconds, as many as it is told', () => {
  expect(readConfig(env).FAIRLEAD_DOOR_GRACE_SECONDS).toBe(3);
  expect(readConfig({ ...env, FAIRLEAD_DOOR_GRACE_SECONDS: '0' }).FAIRLEAD_DOOR_GRACE_SECONDS).toBe(0);
  expect(() => readConfig({ ...env, FAIRLEAD_DOOR_GRACE_SECONDS: '-1' })).toThrow('FAIRLEAD_DOOR_GRACE_SECONDS');
});

it('clusters have host names only where the doors’ certificate has them, and no door’s own name is one', () => {
  const read = (domain: string, names: string, files = {}): string | undefined =>
    readConfig({ ...env, FAIRLEAD_CLUSTER_DOMAIN: domain, FAIRLEAD_GATEWAY_SERVING_NAMES: names, ...files })
      .FAIRLEAD_CLUSTER_DOMAIN;
  expect(readConfig(env).FAIRLEAD_CLUSTER_DOMAIN).toBeUndefined();
  expect(read('K.example', 'door.example,*.k.Example')).toBe('k.example');
  expect(() => read('k.example', 'door.example')).toThrow('must list *.k.example');
  expect(() => read('k.example', '*.k.example,door.k.example')).toThrow("door.k.example would be a cluster's name");
  expect(() => read('example', '*.example')).toThrow('FAIRLEAD_CLUSTER_DOMAIN: expected a DNS name');
  const files = { FAIRLEAD_DOOR_TLS_CERT_FILE: '/tls.crt', FAIRLEAD_DOOR_TLS_KEY_FILE: '/tls.key' };
  expect(read('k.example', '', files)).toBe('k.example');
});

it('the debug view is off unless it is asked for', () => {
  expect(readConfig(env).FAIRLEAD_DEBUG_VIEW).toBe(false);
  expect(readConfig({ ...env, FAIRLEAD_DEBUG_VIEW: 'true' }).FAIRLEAD_DEBUG_VIEW).toBe(true);
});

it('the doors have a certificate by keys for their names, or files of one’s own, both of them', () => {
  expect(doorCertificate(readConfig(env))).toEqual({ names: ['door'] });
  const files = { FAIRLEAD_DOOR_TLS_CERT_FILE: '/tls.crt', FAIRLEAD_DOOR_TLS_KEY_FILE: '/tls.key' };
  const { FAIRLEAD_GATEWAY_SERVING_NAMES: _names, ...nameless } = env;
  expect(doorCertificate(readConfig({ ...nameless, ...files }))).toEqual({ certFile: '/tls.crt', keyFile: '/tls.key' });
  expect(() => readConfig(nameless)).toThrow('FAIRLEAD_GATEWAY_SERVING_NAMES');
  for (const one of Object.keys(files)) {
    const other = Object.keys(files).find((name) => name !== one) ?? '';
    expect(() => readConfig({ ...env, [one]: '/x' })).toThrow(`${other}: is not set`);
  }
});

it('nothing goes out of clusters unless rules allow it, and each bad rule is named', () => {
  expect(readConfig(env).FAIRLEAD_EGRESS_ALLOW).toEqual([]);
  const allow = (rules: string) => readConfig({ ...env, FAIRLEAD_EGRESS_ALLOW: rules }).FAIRLEAD_EGRESS_ALLOW;
  const kinds = allow('git.example.com:22, demo@10.0.0.0/8:22,region=eu@git.example.com:22').map(
    ({ clusters }) => clusters.kind,
  );
  expect(kinds).toEqual(['all', 'name', 'label']);
  expect(() => allow('git.example.com:22,*:22,git.example.com')).toThrow(
    /FAIRLEAD_EGRESS_ALLOW: .*\*:22 allows every name[\s\S]*FAIRLEAD_EGRESS_ALLOW: .*"git\.example\.com"/,
  );
});

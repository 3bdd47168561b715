import { describe, expect, it } from 'vitest';
import { certificateOrigin, readConfig } from './config.js';

const minimal = {
  FAIRLEAD_NATS_URL: 'nats://127.0.0.1:4222',
  FAIRLEAD_NATS_SEED_FILE: '/run/api.nk',
  FAIRLEAD_API_LISTEN: '127.0.0.1:7070',
  FAIRLEAD_PUBLIC_URL: 'https://127.0.0.1:7070',
  FAIRLEAD_API_SERVING_NAMES: '127.0.0.1, localhost',
};

describe('the configuration', () => {
  it('has defaults for all but the places', () => {
    const config = readConfig(minimal);
    expect(config).toMatchObject({
      FAIRLEAD_CREDENTIAL: 'api',
      FAIRLEAD_LOG_LEVEL: 'info',
      FAIRLEAD_DOORS: [],
      FAIRLEAD_CONNECT_DOORS: [],
    });
    expect(certificateOrigin(config)).toEqual({ kind: 'issued', names: ['127.0.0.1', 'localhost'] });
  });

  it('reads doors and IPv6 addresses', () => {
    const doors = 'gateway-a=https://127.0.0.1:7443/, gateway-b=https://b.example';
    const config = readConfig({ ...minimal, FAIRLEAD_DOORS: doors, FAIRLEAD_API_LISTEN: '[::1]:0' });
    expect(config.FAIRLEAD_API_LISTEN).toEqual({ host: '::1', port: 0 });
    expect(config.FAIRLEAD_DOORS).toEqual([
      { name: 'gateway-a', url: 'https://127.0.0.1:7443' },
      { name: 'gateway-b', url: 'https://b.example' },
    ]);
  });

  it('takes a certificate from files only if it is whole', () => {
    const files = { FAIRLEAD_TLS_CERT_FILE: '/tls.crt', FAIRLEAD_TLS_KEY_FILE: '/tls.key' };
    const config = readConfig({ ...minimal, ...files, FAIRLEAD_API_SERVING_NAMES: '' });
    expect(certificateOrigin(config)).toEqual({ kind: 'files', certFile: '/tls.crt', keyFile: '/tls.key' });
    expect(() => readConfig({ ...minimal, FAIRLEAD_TLS_CERT_FILE: '/x' })).toThrow('FAIRLEAD_TLS_KEY_FILE: is not set');
    expect(() => readConfig({ ...minimal, FAIRLEAD_TLS_KEY_FILE: '/x' })).toThrow('FAIRLEAD_TLS_CERT_FILE: is not set');
    expect(() => readConfig({ ...minimal, FAIRLEAD_API_SERVING_NAMES: '' })).toThrow(
      'FAIRLEAD_API_SERVING_NAMES: is not set',
    );
  });

  it('reads below which domain clusters have host names, if they have any', () => {
    expect(readConfig(minimal).FAIRLEAD_CLUSTER_DOMAIN).toBeUndefined();
    expect(readConfig({ ...minimal, FAIRLEAD_CLUSTER_DOMAIN: 'K.example' }).FAIRLEAD_CLUSTER_DOMAIN).toBe('k.example');
    const taken = { FAIRLEAD_CLUSTER_DOMAIN: 'k.example', FAIRLEAD_DOORS: 'a=https://door.k.example' };
    expect(() => readConfig({ ...minimal, ...taken })).toThrow('FAIRLEAD_CLUSTER_DOMAIN: a door of FAIRLEAD_DOORS');
    const ownName = { FAIRLEAD_CLUSTER_DOMAIN: 'k.example', FAIRLEAD_PUBLIC_URL: 'https://api.k.example' };
    expect(() => readConfig({ ...minimal, ...ownName })).toThrow('FAIRLEAD_CLUSTER_DOMAIN: the admin API');
  });

  it('names every problem', () => {
    const load = (): unknown => readConfig({ FAIRLEAD_PUBLIC_URL: 'http://x', FAIRLEAD_DOORS: 'a=b,=https://c' });
    expect(load).toThrow(/FAIRLEAD_NATS_URL: is not set/);
    expect(load).toThrow(/FAIRLEAD_PUBLIC_URL: expected an https/);
    expect(load).toThrow(/FAIRLEAD_DOORS: "a=b" is not of the form/);
  });
});

import { expect, it } from 'vitest';
import { readConfig } from './config.js';

it('keeps the login where the user wants it', () => {
  expect(readConfig({}, '/home/me').home).toBe('/home/me/.config/fairlead');
  expect(readConfig({ XDG_CONFIG_HOME: '/xdg' }, '/home/me').home).toBe('/xdg/fairlead');
  const explicit = readConfig({ FAIRLEAD_HOME: '/here', XDG_CONFIG_HOME: '/xdg' }, '/home/me');
  expect(explicit).toMatchObject({ home: '/here', explicitHome: '/here' });
});

it("knows the user's own kubeconfigs", () => {
  expect(readConfig({ KUBECONFIG: '/a:/b:' }, '/home/me').ownKubeconfigs).toEqual([
    '/home/me/.kube/config',
    '/a',
    '/b',
  ]);
});

it('finds a forward proxy in either spelling', () => {
  expect(readConfig({}, '/').proxy).toBeUndefined();
  expect(readConfig({ HTTPS_PROXY: 'http://p:1', NO_PROXY: 'x' }, '/').proxy).toEqual({
    url: 'http://p:1',
    except: 'x',
  });
  expect(readConfig({ HTTPS_PROXY: 'p:1' }, '/').proxy?.url).toBe('http://p:1');
  expect(readConfig({ https_proxy: 'http://q:1', HTTPS_PROXY: 'http://p:1' }, '/').proxy?.url).toBe('http://q:1');
});

it('knows whether a browser would be seen', () => {
  const display = (env: NodeJS.ProcessEnv, platform: NodeJS.Platform): boolean =>
    readConfig(env, '/', platform).display;
  expect(display({}, 'linux')).toBe(false);
  expect(display({ DISPLAY: ':0' }, 'linux')).toBe(true);
  expect(display({ WAYLAND_DISPLAY: 'wayland-0' }, 'freebsd')).toBe(true);
  expect(display({ DISPLAY: 'localhost:10.0', SSH_CONNECTION: 'a b' }, 'linux')).toBe(true);
  expect(display({}, 'darwin')).toBe(true);
  expect(display({ SSH_CONNECTION: 'a b' }, 'darwin')).toBe(false);
  expect(display({}, 'win32')).toBe(true);
});

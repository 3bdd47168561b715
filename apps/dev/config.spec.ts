import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.js';

describe('loadConfig', () => {
  it('has defaults for everything', () => {
    expect(loadConfig([], {}, false)).toEqual({
      help: false,
      prepare: false,
      demo: true,
      gitops: false,
      verbose: false,
      portBase: undefined,
      stateDir: undefined,
      gateways: undefined,
      natsNames: undefined,
      postgresNames: undefined,
      ownGitAuthority: false,
      colours: false,
      terminal: false,
    });
  });

  it('reads its options', () => {
    const args = ['--port-base', '17000', '--state-dir', '/tmp/x', '--no-demo', '--verbose'];
    expect(loadConfig(args, {}, true)).toMatchObject({
      portBase: 17_000,
      stateDir: '/tmp/x',
      demo: false,
      verbose: true,
    });
  });

  it('takes the wish for GitOps, which needs a demo', () => {
    expect(loadConfig(['--gitops'], {}, false)).toMatchObject({ demo: true, gitops: true });
  });

  it('takes names of gateways to make credentials for', () => {
    expect(loadConfig(['--prepare', '--gateways', 'gw-0,gw-1'], {}, false).gateways).toEqual(['gw-0', 'gw-1']);
  });

  it('takes names of servers to make certificates for', () => {
    const args = ['--prepare', '--nats-names', 'nats.fairlead.svc,127.0.0.1', '--postgres-names', 'db.example.com'];
    const names = { natsNames: ['nats.fairlead.svc', '127.0.0.1'], postgresNames: ['db.example.com'] };
    expect(loadConfig(args, {}, false)).toMatchObject(names);
  });

  it('uses colours only on a terminal, and not against the wish of a person', () => {
    expect(loadConfig([], {}, true).colours).toBe(true);
    expect(loadConfig([], { NO_COLOR: '1' }, true).colours).toBe(false);
    expect(loadConfig([], { NO_COLOR: '' }, true).colours).toBe(true);
  });

  it.each([
    [['--port-base', 'x']],
    [['--port-base', '80']],
    [['--gitops', '--no-demo']],
    [['--colour']],
    [['extra']],
    [['--gateways', 'a']],
    [['--nats-names', 'a']],
    [['--prepare', '--postgres-names', 'a b']],
    [['--prepare', '--gateways', 'A b']],
  ])('refuses %j', (args) => {
    expect(() => loadConfig(args, {}, false)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error);
  });
});

import { Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { painter, terminalOn } from './terminal.js';
import { formatLogLine, parseLogLine } from './log-line.js';
import { readyScreen } from './ready-screen.js';
import { Reporter } from './reporter.js';

const plain = painter(false);

function sink(): { stream: Writable; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  return { stream, text: () => text };
}

describe('parseLogLine', () => {
  it('makes one of our lines readable', () => {
    const line =
      '{"level":"warn","time":"2026-01-02T03:04:05.678Z","service":"gateway","event":"link.lost","code":"X","why":"a b"}';
    const parsed = parseLogLine(line);
    expect(formatLogLine('gateway-a', parsed, plain)).toBe('03:04:05 gateway-a    warn  link.lost code=X why="a b"');
  });

  it.each(['Error: out of memory', '{"level":"loud"}', '{'])(
    'shows what it does not understand as it is: %s',
    (line) => {
      expect(parseLogLine(line)).toEqual({ severity: 'warn', text: line, time: undefined });
    },
  );
});

describe('terminalOn', () => {
  it('writes plain lines where nobody watches', () => {
    const { stream, text } = sink();
    const terminal = terminalOn(stream, { paint: plain, animated: false, columns: () => 80 });
    terminal.progress('one');
    terminal.print('hello');
    terminal.progress('two');
    terminal.settle();
    expect(text()).toBe('- one\nhello\n- two\n');
  });

  it('keeps the moving line below the others and on one row', () => {
    vi.useFakeTimers();
    const { stream, text } = sink();
    const terminal = terminalOn(stream, { paint: plain, animated: true, columns: () => 10 });
    terminal.progress('a long text that does not fit');
    vi.advanceTimersByTime(200);
    terminal.print('hello');
    terminal.settle();
    expect(text()).toContain('⠙ a long ');
    expect(text()).toContain('hello\n');
    expect(text().endsWith('- a long text that does not fit\n')).toBe(true);
    vi.useRealTimers();
  });
});

describe('Reporter', () => {
  it('shows warnings and deaths, and other lines only when asked to', () => {
    const { stream, text } = sink();
    const terminal = terminalOn(stream, { paint: plain, animated: false, columns: () => 80 });
    const reporter = new Reporter({ terminal, paint: plain, verbose: false });
    reporter.ready();
    const line = (level: string): string =>
      JSON.stringify({ level, time: '2026-01-02T03:04:05Z', event: `${level}.event` });
    reporter.show({ kind: 'line', process: 'keys', line: line('info') });
    reporter.show({ kind: 'line', process: 'keys', line: line('error') });
    reporter.show({ kind: 'died', process: 'keys', how: 'SIGKILL', tail: [] });
    reporter.show({ kind: 'restarting', process: 'keys', delayMs: 340 });
    reporter.show({ kind: 'running', process: 'keys', pid: 7 });
    expect(text().split('\n').slice(0, -1)).toEqual([
      '03:04:05 keys         error error.event',
      'keys ended: SIGKILL',
      'keys is started again in 0.3 s',
      'keys runs (pid 7)',
    ]);
  });
});

describe('readyScreen', () => {
  const stack = {
    stateDir: '/repo/.fairlead',
    api: {
      url: 'https://127.0.0.1:7070',
      caFile: '/repo/.fairlead/ca.pem',
      adminTokenFile: '/repo/.fairlead/secrets/t',
    },
    gateways: ['gateway-a', 'gateway-b'].map((name) => ({
      name,
      doorUrl: '',
      connectUrl: '',
      linkAddress: '',
      relayAddress: '',
      healthUrl: '',
    })),
    kubeconfigPath: '/repo/.fairlead/kubeconfig',
    cliPath: '/repo/.fairlead/bin/fairlead',
    demoIssuer: undefined,
  };
  const demo = {
    clusterName: 'demo' as const,
    kubeInfo: { url: '', caPem: '', adminKubeconfigPath: '', version: '' },
    adminKubeconfigPath: '',
  };
  const options = { folder: '/repo', seconds: 12.3, paint: plain, advertise: undefined, ownGitAuthority: false };

  it('gives commands that can be pasted in the repository, one through each gateway', () => {
    const text = readyScreen({ ...stack, demo }, options);
    const kubectl = '.fairlead/bin/kubectl --kubeconfig .fairlead/kubeconfig';
    expect(text).toContain(`  ${kubectl} --context demo@gateway-a get namespaces\n`);
    expect(text).toContain(`  ${kubectl} --context demo@gateway-b create configmap`);
    expect(text).toContain('--ca-file .fairlead/ca.pem --token-file .fairlead/secrets/t');
  });

  it('says who else logs in and how, where there is an issuer that asks for no password', () => {
    const users = [{ name: 'dana', title: 'a developer', groups: [] }];
    const demoIssuer = { name: 'demo', url: 'http://127.0.0.1:7680', users } as const;
    const text = readyScreen({ ...stack, demo, demoIssuer }, options);
    expect(text).toContain(
      'FAIRLEAD_HOME=.fairlead/others-home npm run fairlead -- login --issuer demo --server https://127.0.0.1:7070 --ca-file .fairlead/ca.pem',
    );
    expect(text).toContain('without passwords (http://127.0.0.1:7680): dana, a developer');
    expect(readyScreen({ ...stack, demo }, options)).not.toContain('As others');
  });

  it('leads into a pod through the second gateway, or says why there is none', () => {
    const withPod = readyScreen({ ...stack, demo: { ...demo, pod: { name: 'hello' } } }, options);
    expect(withPod).toContain(' --context demo@gateway-b exec -it hello -- sh\n');
    expect(withPod).toContain(' --context demo@gateway-b logs -f hello\n');
    expect(withPod).toContain(' --context demo@gateway-b cp hello:/etc/hosts .fairlead/hosts-of-pod\n');
    expect(withPod).toContain(' --context demo@gateway-b port-forward pod/hello 8080\n');
    const without = readyScreen({ ...stack, demo: { ...demo, pod: { unavailable: 'no Go here' } } }, options);
    expect(without).toContain('no pod to exec into: no Go here');
    expect(readyScreen({ ...stack, demo }, options)).not.toContain('exec');
  });

  it('says what the demo follows and how to change that, or how to have it follow something', () => {
    expect(readyScreen({ ...stack, demo }, options)).toContain('npm start -- --gitops');
    const gitops = {
      url: 'https://127.0.0.1:7630/platform/catalog.git',
      caFile: '/repo/.fairlead/gitops/git-host-ca.pem',
      workingCopy: '/repo/.fairlead/catalog',
      file: 'clusters/demo/from-git.yaml',
      status: 'healthy, follows main@sha1:0123456789ab',
    };
    const text = readyScreen({ ...stack, demo: { ...demo, gitops } }, options);
    expect(text).toContain('healthy, follows main@sha1:0123456789ab');
    expect(text).toContain('-o yaml > .fairlead/catalog/clusters/demo/from-git.yaml\n');
    expect(text).toContain('&& git -C .fairlead/catalog push --quiet\n');
    expect(text).not.toContain('--gitops');
    const elsewhere = readyScreen({ ...stack, demo: { ...demo, gitops } }, { ...options, ownGitAuthority: true });
    expect(elsewhere).toContain('&& env -u GIT_SSL_CAINFO git -C .fairlead/catalog push --quiet\n');
  });

  it('quotes what a shell would take apart, and keeps paths elsewhere absolute', () => {
    const text = readyScreen({ ...stack, demo, kubeconfigPath: "/else where/it's" }, options);
    expect(text).toContain(String.raw`--kubeconfig '/else where/it'\''s' `);
  });

  it('says whether anybody elsewhere reaches it, and how to change that', () => {
    expect(readyScreen({ ...stack, demo }, options)).toContain('npm start -- --advertise HOST');
    const text = readyScreen({ ...stack, demo }, { ...options, advertise: '192.0.2.7' });
    expect(text).toContain('reach this as 192.0.2.7');
    expect(text).not.toContain('--advertise');
  });

  it('says why there is no demo, and how to join a cluster', () => {
    const text = readyScreen({ ...stack, demo: { unavailable: 'no Go here' } }, options);
    expect(text).toContain('none: no Go here');
    expect(text).toContain('.fairlead/bin/fairlead cluster import my-cluster | kubectl apply -f -');
  });
});

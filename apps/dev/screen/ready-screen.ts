import { relative } from 'node:path';
import type { DemoGitOps, Stack } from '@fairlead/stack';
import type { Paint } from './terminal.js';

interface ReadyScreenOptions {
  /** Commands are to be pasted there, so paths are shown relative to it. */
  readonly folder: string;
  readonly seconds: number;
  readonly paint: Paint;
  /** As which host this machine is reached from elsewhere; undefined: not at all. */
  readonly advertise: string | undefined;
  /** Whether Git is told an authority that counts more than what a clone says. */
  readonly ownGitAuthority: boolean;
}

type Shown = Pick<Stack, 'stateDir' | 'api' | 'gateways' | 'demo' | 'demoIssuer' | 'kubeconfigPath' | 'cliPath'>;

/** What to know, and what to try first, once everything runs. */
export function readyScreen(stack: Shown, options: ReadyScreenOptions): string {
  const { paint } = options;
  const path = (absolute: string): string => shellWord(pathFrom(options.folder, absolute));
  const row = (name: string, value: string): string => `  ${paint('bold', name.padEnd(12))}${value}`;
  const files = `--ca-file ${path(stack.api.caFile)} --token-file ${path(stack.api.adminTokenFile)}`;
  return [
    '',
    paint('green', `Fairlead is ready (${options.seconds.toFixed(0)} s).`),
    '',
    row('Admin API', `${stack.api.url}  (its description: ${stack.api.url}/openapi.json)`),
    row('Command', `${path(stack.cliPath)} cluster list  (logged in as the administrator)`),
    row('Log in', `npm run fairlead -- login --server ${stack.api.url} ${files}`),
    ...withIssuer(stack, path, row),
    ...('unavailable' in stack.demo
      ? withoutDemo(stack.demo.unavailable, path(stack.cliPath), row, paint)
      : withDemo(stack, path, row, options)),
    '',
    row(
      'Elsewhere',
      options.advertise === undefined
        ? 'nothing reaches this from other machines; npm start -- --advertise HOST opens it'
        : `clusters and people on other machines reach this as ${options.advertise}`,
    ),
    ...('unavailable' in stack.demo || stack.demo.gitops
      ? []
      : [row('GitOps', 'npm start -- --gitops lets the demo cluster follow a Git repository')]),
    row('Logs', `${path(`${stack.stateDir}/logs`)}/`),
    row('Stop', 'Ctrl-C'),
    '',
  ].join('\n');
}

/** Who can log in without being the administrator, and how: kept beside the administrator's login. */
function withIssuer({ demoIssuer, api, stateDir }: Shown, path: (absolute: string) => string, row: Row): string[] {
  if (!demoIssuer) return [];
  const people = demoIssuer.users.map(({ name, title }) => `${name}, ${title}`).join('; ');
  const server = `--issuer ${demoIssuer.name} --server ${api.url} --ca-file ${path(api.caFile)}`;
  const command = `FAIRLEAD_HOME=${path(`${stateDir}/others-home`)} npm run fairlead -- login ${server}`;
  return [row('As others', command), row('', `a demo issuer without passwords (${demoIssuer.url}): ${people}`)];
}

type Row = (name: string, value: string) => string;

function withDemo(
  stack: Shown,
  path: (absolute: string) => string,
  row: Row,
  { paint, ownGitAuthority }: ReadyScreenOptions,
): string[] {
  const contexts = stack.gateways.map(({ name }) => `demo@${name}`);
  const [first = '', second = first] = contexts;
  const kubectl = `${path(`${stack.stateDir}/bin/kubectl`)} --kubeconfig ${path(stack.kubeconfigPath)}`;
  const git = ownGitAuthority ? 'env -u GIT_SSL_CAINFO git' : 'git';
  const programs = { kubectl: `${kubectl} --context ${first}`, git };
  return [
    row('Kubeconfig', `${path(stack.kubeconfigPath)}  (contexts ${contexts.join(', ')})`),
    '',
    'Try these. The demo cluster is connected to one of the gateways (cluster list names it); the other one relays:',
    '',
    paint('cyan', `  ${kubectl} --context ${first} get namespaces`),
    paint('cyan', `  ${kubectl} --context ${second} create configmap note --from-literal=from=fairlead`),
    paint('cyan', `  ${kubectl} --context ${first} get configmap note -o yaml`),
    ...withPod(stack.demo, `${kubectl} --context ${second}`, path(`${stack.stateDir}/hosts-of-pod`), paint),
    ...('gitops' in stack.demo && stack.demo.gitops ? withGitOps(stack.demo.gitops, programs, path, paint) : []),
  ];
}

/** A pod to look into, or why there is none. */
function withPod(demo: Shown['demo'], kubectl: string, copy: string, paint: Paint): string[] {
  if (!('pod' in demo) || !demo.pod) return [];
  if ('unavailable' in demo.pod) return ['', `The demo cluster has no pod to exec into: ${demo.pod.unavailable}`];
  const { name } = demo.pod;
  return [
    paint('cyan', `  ${kubectl} exec -it ${name} -- sh`),
    paint('cyan', `  ${kubectl} logs -f ${name}`),
    paint('cyan', `  ${kubectl} cp ${name}:/etc/hosts ${copy}`),
    paint('cyan', `  ${kubectl} port-forward pod/${name} 8080`),
  ];
}

/** What it follows, and how to see that: everything is copied as it stands. */
function withGitOps(
  gitops: DemoGitOps,
  programs: { readonly kubectl: string; readonly git: string },
  path: (absolute: string) => string,
  paint: Paint,
): string[] {
  const { url, workingCopy, file, status } = gitops;
  const made = 'create configmap from-git --namespace default --from-literal=greeting="hello, $(date)"';
  const { kubectl } = programs;
  const git = `${programs.git} -C ${path(workingCopy)}`;
  return [
    '',
    `The demo cluster is ${status}. Its repository is ${url}; change what is in it, and look again within ten seconds:`,
    '',
    paint('cyan', `  ${kubectl} ${made} --dry-run=client -o yaml > ${path(`${workingCopy}/${file}`)}`),
    paint('cyan', `  ${git} commit --all --quiet --message 'Say hello' && ${git} push --quiet`),
    paint('cyan', `  ${kubectl} get configmap from-git --output jsonpath='{.data.greeting}'`),
  ];
}

function withoutDemo(why: string, fairlead: string, row: Row, paint: Paint): string[] {
  return [
    row('Demo', `none: ${why}`),
    '',
    'Join a cluster of your own (it has to reach the gateways on this machine: see Elsewhere):',
    '',
    paint('cyan', `  ${fairlead} cluster create my-cluster`),
    paint('cyan', `  ${fairlead} cluster import my-cluster | kubectl apply -f -`),
    paint('cyan', `  ${fairlead} kubeconfig my-cluster --output my-cluster.kubeconfig`),
  ];
}

function pathFrom(folder: string, absolute: string): string {
  const path = relative(folder, absolute);
  return path.startsWith('..') ? absolute : path;
}

function shellWord(text: string): string {
  return /^[\w./@:=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

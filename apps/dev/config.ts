import { parseArgs } from 'node:util';
import { CredentialName } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { z } from 'zod';

export const USAGE = `Usage: npm start -- [options]

Starts all of Fairlead on this machine, with a demo cluster, and stops it on Ctrl-C.

  --port-base N      count ports from N instead of 7000 (the admin API is N+70, gateway-a's door N+443)
  --state-dir DIR    keep everything in DIR instead of .fairlead
  --advertise HOST   also listen for clusters and people elsewhere, who reach this machine as HOST
  --agent-image REF  the agent's image in import manifests, instead of localhost/fairlead/agent:dev
  --gitops           let the demo cluster follow a Git repository on this machine, now and in later starts
  --no-demo          start no demo cluster
  --verbose          show every line of every log, not only warnings and what starts or ends
  --prepare          only make credentials, for nats-server and Postgres of your own (see docker-compose.yml)
  --gateways A,B     with --prepare: the names of the gateways that get a credential (gateway-a,gateway-b)
  --nats-names A,B   with --prepare: names and addresses for nats-server's certificate (127.0.0.1,localhost)
  --postgres-names A,B   the same for Postgres
  --help             show this

Environment: DATABASE_URL and NATS_URL name a Postgres and a nats-server to use instead of starting them, by TLS with the
certificates of --prepare if they say tls:// and ?sslmode=verify-full, else on this machine only;
FAIRLEAD_TESTBED_KUBECONFIG names a cluster to use as the demo; NO_COLOR switches colours off.
`;

export interface Config {
  readonly help: boolean;
  readonly prepare: boolean;
  /** Undefined: the stack's default. */
  readonly gateways: readonly string[] | undefined;
  /** Undefined: those of this machine. */
  readonly natsNames: readonly string[] | undefined;
  readonly postgresNames: readonly string[] | undefined;
  readonly demo: boolean;
  /** Whether the demo is to follow a repository. One that already does so goes on. */
  readonly gitops: boolean;
  /** Undefined: this machine alone. */
  readonly advertise: string | undefined;
  /** Undefined: the stack's default. */
  readonly agentImage: string | undefined;
  readonly verbose: boolean;
  /** Undefined: the stack's default. */
  readonly portBase: number | undefined;
  /** Undefined: `.fairlead` in the repository. */
  readonly stateDir: string | undefined;
  /** GIT_SSL_CAINFO is set: for Git it counts more than what a clone says. */
  readonly ownGitAuthority: boolean;
  readonly colours: boolean;
  /** Whether somebody watches: a spinner makes sense only then. */
  readonly terminal: boolean;
}

const Port = z.coerce.number().int().min(1_024).max(64_000);

/** Reads the command line and the environment. Throws INVALID_ARGUMENT for what it does not know. */
export function loadConfig(args: readonly string[], env: NodeJS.ProcessEnv, terminal: boolean): Config {
  const values = parse(args);
  const portBase = values['port-base'] === undefined ? undefined : Port.safeParse(values['port-base']);
  if (portBase?.success === false) {
    throw new FairleadError('INVALID_ARGUMENT', '--port-base takes a number from 1024 to 64000');
  }
  if (values.gitops && values['no-demo'])
    throw new FairleadError('INVALID_ARGUMENT', '--gitops is about the demo cluster: leave --no-demo out');
  return {
    help: values.help ?? false,
    prepare: values.prepare ?? false,
    demo: !(values['no-demo'] ?? false),
    gitops: values.gitops ?? false,
    verbose: values.verbose ?? false,
    portBase: portBase?.data,
    stateDir: values['state-dir'],
    advertise: advertised(values.advertise),
    agentImage: values['agent-image'],
    gateways: gatewayNames(values.gateways, values.prepare ?? false),
    natsNames: serverNames('nats-names', values['nats-names'], values.prepare ?? false),
    postgresNames: serverNames('postgres-names', values['postgres-names'], values.prepare ?? false),
    ownGitAuthority: env['GIT_SSL_CAINFO'] !== undefined,
    // https://no-color.org: present and not empty.
    colours: terminal && !env['NO_COLOR'],
    terminal,
  };
}

function advertised(host: string | undefined): string | undefined {
  if (host === undefined || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/.test(host)) return host;
  throw new FairleadError('INVALID_ARGUMENT', '--advertise takes a host name or an IPv4 address, without a port');
}

function gatewayNames(text: string | undefined, prepare: boolean): readonly string[] | undefined {
  if (text === undefined) return undefined;
  if (!prepare) throw new FairleadError('INVALID_ARGUMENT', '--gateways goes with --prepare');
  const names = text.split(',');
  if (names.every((name) => CredentialName.safeParse(name).success)) return names;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    '--gateways takes names of lower-case letters, digits and dashes, separated by commas',
  );
}

function serverNames(option: string, text: string | undefined, prepare: boolean): readonly string[] | undefined {
  if (text === undefined) return undefined;
  if (!prepare) throw new FairleadError('INVALID_ARGUMENT', `--${option} goes with --prepare`);
  const names = text.split(',');
  if (names.every((name) => /^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/.test(name))) return names;
  throw new FairleadError('INVALID_ARGUMENT', `--${option} takes DNS names and IPv4 addresses, separated by commas`);
}

function parse(args: readonly string[]) {
  try {
    const flag = { type: 'boolean' } as const;
    const text = { type: 'string' } as const;
    const options = {
      help: flag,
      prepare: flag,
      verbose: flag,
      'no-demo': flag,
      gitops: flag,
      'port-base': text,
      'state-dir': text,
      gateways: text,
      'nats-names': text,
      'postgres-names': text,
      advertise: text,
      'agent-image': text,
    };
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new FairleadError('INVALID_ARGUMENT', `${messageOf(error)}\n\n${USAGE}`);
  }
}

import type { Stack } from '@fairlead/stack';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { BenchError } from '../process/bench-error.js';

/** What an import manifest tells an agent. */
export interface Invitation {
  readonly endpoints: string;
  readonly pins: string;
  readonly trustDomain: string;
  /** Rules of what it may open for raw TCP; empty: nothing. */
  readonly targets: string;
  /** A bootstrap token: a secret. */
  readonly token: string;
}

const Variable = z.object({ name: z.string(), value: z.string().optional() });
const Deployment = z.object({
  kind: z.literal('Deployment'),
  spec: z.object({
    template: z.object({
      spec: z.object({ containers: z.tuple([z.object({ env: z.array(Variable) })], z.unknown()) }),
    }),
  }),
});
const SecretDocument = z.object({ kind: z.literal('Secret'), data: z.record(z.string(), z.base64()) });

/** Creates a cluster whose agent may open every port of a host, and redeems its import link, as a person does. */
export async function inviteCluster(
  stack: Stack,
  cluster: string,
  links: number,
  targetHost: string,
): Promise<Invitation> {
  const allow = ['--allow-target', `${targetHost}/32:1-65535`];
  await succeed(stack, ['cluster', 'create', cluster, '--links', String(links), ...allow]);
  return readInvitation(await succeed(stack, ['cluster', 'import', cluster]));
}

/** Throws BenchError if the manifest lacks something. */
export function readInvitation(manifest: string): Invitation {
  const documents = parseAllDocuments(manifest).map((document): unknown => document.toJS());
  const variables = documents.flatMap((document) => {
    const { success, data } = Deployment.safeParse(document);
    return success ? data.spec.template.spec.containers[0].env : [];
  });
  const secrets = documents.flatMap((document) => {
    const { success, data } = SecretDocument.safeParse(document);
    return success ? Object.values(data.data).map((value) => Buffer.from(value, 'base64').toString()) : [];
  });
  const find = (name: string): string | undefined => variables.find((variable) => variable.name === name)?.value;
  const value = (name: string): string => {
    const found = find(name);
    if (found === undefined) throw new BenchError(`the import manifest does not say ${name}`);
    return found;
  };
  const token = secrets.find((secret) => secret.startsWith('fl1.'));
  if (token === undefined) throw new BenchError('the import manifest holds no bootstrap token');
  return {
    endpoints: value('FAIRLEAD_ENDPOINTS'),
    pins: value('FAIRLEAD_ROOT_PINS'),
    trustDomain: value('FAIRLEAD_TRUST_DOMAIN'),
    targets: find('FAIRLEAD_ALLOW_TARGETS') ?? '',
    token,
  };
}

/** Runs the command as the administrator. Throws BenchError with what it said. */
export async function succeed(stack: Stack, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await stack.cli(args);
  if (code !== 0) throw new BenchError(`fairlead ${args.slice(0, 2).join(' ')} failed: ${stderr.trim()}`);
  return stdout;
}

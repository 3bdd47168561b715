import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, type Format } from '../output/print.js';
import { refuseExisting } from '../output/refuse-existing.js';
import { Cluster, IssuedIdentity, namespaceOf } from '../session/answers.js';
import type { ApiClient } from '../session/api-client.js';
import { writePrivateFile } from '../session/login-store.js';
import { clusterPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { outputOption } from './option-values.js';
import { withApi } from './with-api.js';

const ISSUE_HELP = `
The key is made here, and leaves this machine in that file only: take it to the agent over a way that you trust, and delete it.
The certificate in it is valid for a day unless the installation says otherwise; an agent that starts with it renews it, for 30 days
after its end as well. Whoever has the file is the cluster's agent: an agent that works is replaced.

Examples:
  fairlead identity issue edge-7 --out edge-7.json            # for an agent with FAIRLEAD_IDENTITY_BUNDLE_FILE=edge-7.json
  fairlead identity issue edge-7 --out edge-7.yaml --manifest # for: kubectl apply -f edge-7.yaml`;

interface IssueOptions {
  readonly out: string;
  readonly manifest?: true;
  readonly force?: true;
  readonly yes?: true;
  readonly output: Format;
}

/** identity issue. */
export function addIdentityCommands(program: Command, io: Io): void {
  const identity = program
    .command('identity')
    .summary('make identities that are taken to agents by hand')
    .description(
      'Make identities that are taken to agents by hand: without a bootstrap token, whatever the policy says.',
    );
  identity
    .command('issue <cluster>')
    .summary('make the identity of a cluster’s agent')
    .description('Make a key, have it certified as the agent of a cluster, and write both to a file for you only.')
    .requiredOption('--out <file>', 'where to write it')
    .option('--manifest', 'write the whole import manifest instead, with the identity in a Secret')
    .option('--force', 'replace the file if it is there')
    .option('--yes', 'do not ask before an agent that the cluster has is replaced')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', ISSUE_HELP)
    .action((cluster: string, options: IssueOptions) => issue(io, cluster, options));
}

async function issue(io: Io, name: string, options: IssueOptions): Promise<void> {
  const { out, manifest, force, yes, output } = options;
  const path = resolve(out);
  if (!force) await refuseExisting(path);
  const made = await withApi(io, async (api) => {
    const cluster = await api.ask(Cluster, clusterPath(name));
    const question = `The cluster ${name} has an agent. Replace it? It is refused from then on.`;
    if (cluster.enrolledAt !== null && !(await confirmed(io, question, yes))) return null;
    return { ...(await certify(api, name)), namespace: namespaceOf(cluster) };
  });
  if (made === null) return printLines(io, 'nothing issued');
  const { issued, bundle, namespace } = made;
  await writePrivateFile(path, manifest ? await manifestWith(issued, bundle, namespace) : bundle);
  const { cluster, generation, notAfter, endpoints } = issued;
  if (output === 'json') return printJson(io, { cluster, generation, notAfter, endpoints, file: path });
  printLines(io, `identity of ${cluster} (enrolment ${generation}) written to ${path}; valid until ${notAfter}`);
  if (manifest) return printHint(io, `next, in the cluster: kubectl apply -f ${out}; then delete the file`);
  printHint(io, `next, for its agent: FAIRLEAD_IDENTITY_BUNDLE_FILE=${out} FAIRLEAD_ENDPOINTS=${endpoints.join(',')}`);
}

async function certify(api: ApiClient, name: string): Promise<{ issued: IssuedIdentity; bundle: string }> {
  // Loaded only here: see `connect`.
  const { createCsr, generatePrivateKey } = await import('@fairlead/pki');
  const keyPem = await generatePrivateKey();
  const csr = Buffer.from(await createCsr(keyPem)).toString('base64');
  const issued = await api.ask(IssuedIdentity, `${clusterPath(name)}/identities`, { method: 'POST', body: { csr } });
  const { cluster, clusterId, generation, trustDomain, endpoints, chain: chainPem, roots: rootsPem } = issued;
  // What the agent reads: `IdentityBundle` of libs/agent.
  const identity = { clusterId, generation, trustDomain, keyPem, chainPem, rootsPem };
  const bundle = { kind: 'fairlead-identity-bundle', version: 1, cluster, endpoints, identity };
  return { issued, bundle: `${JSON.stringify(bundle, null, 2)}\n` };
}

/** The manifest mounts this Secret where its agent looks for a bundle. */
async function manifestWith({ manifest }: IssuedIdentity, bundle: string, namespace: string): Promise<string> {
  const { stringify } = await import('yaml');
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'fairlead-agent-bootstrap', namespace },
    type: 'Opaque',
    data: { 'identity-bundle.json': Buffer.from(bundle).toString('base64') },
  };
  return `# This holds the private key of an agent: apply it, and delete it.\n${manifest.trimEnd()}\n---\n${stringify(secret, { lineWidth: 0 })}`;
}

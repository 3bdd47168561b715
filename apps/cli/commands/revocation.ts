import type { Command } from 'commander';
import { usage } from '../failure.js';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, printResult, printTable, type Format } from '../output/print.js';
import { CertificateList, CertificateRecord, Cluster, GatewayRevoked } from '../session/answers.js';
import { allPages } from '../session/all-pages.js';
import type { ApiClient } from '../session/api-client.js';
import { confirmed } from '../session/prompt.js';
import { clusterPath } from '../session/paths.js';
import { outputOption } from './option-values.js';
import { withApi } from './with-api.js';

interface Revoking {
  readonly output: Format;
  readonly reason: string;
  readonly yes?: true;
}

interface Listing {
  readonly output: Format;
  readonly gateways?: true;
}

const GATEWAYS = '/v1/gateways';

const CLUSTER_HELP = `
Everything its agent holds is worth nothing from then on: certificates, tokens, import links. What stands is broken off.
To bring the cluster back:
  fairlead cluster import <name> | kubectl apply -f -`;

/** cluster revoke. */
export function addClusterRevocation(cluster: Command, io: Io): void {
  cluster
    .command('revoke <name>')
    .summary('cut a cluster off until it is imported again')
    .description('Cut a cluster off until it is imported again. For an agent whose key may be in the wrong hands.')
    .requiredOption('--reason <text>', 'why; kept with the event')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', CLUSTER_HELP)
    .action((name: string, options: Revoking) => revokeCluster(io, name, options));
}

/** certificate list, revoke. */
export function addCertificateCommands(program: Command, io: Io): void {
  const certificate = program
    .command('certificate')
    .summary('look at certificates, revoke them')
    .description('Look at certificates, and revoke them.');
  certificate
    .command('list [cluster]')
    .alias('ls')
    .summary('list the certificates of a cluster, or of the gateways')
    .description(
      'List the certificates that the agent of a cluster was given, or all gateways: those that end last first.',
    )
    .option('--gateways', 'those of the gateways')
    .addOption(outputOption('table', 'json'))
    .action((cluster: string | undefined, options: Listing) => list(io, cluster, options));
  certificate
    .command('revoke <certificate>')
    .summary('revoke one certificate, or all of a gateway')
    .description(
      'Revoke one certificate, by its serial number, or all that a gateway has had, by gateway/<name>: whoever shows them is refused from then on. It cannot be undone.',
    )
    .requiredOption('--reason <text>', 'why; kept with the event')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .addHelpText(
      'after',
      `
Its holder stays cut off. To cut off all that a cluster has: fairlead cluster revoke <name>
A gateway gets new certificates with its NATS credential: take that away first, if it is in the wrong hands.

Examples:
  fairlead certificate list --gateways
  fairlead certificate revoke gateway/gateway-a --reason 'the machine was taken over'`,
    )
    .action((which: string, options: Revoking) => {
      const gateway = /^gateway\/(.+)$/.exec(which)?.[1];
      return gateway === undefined ? revokeCertificate(io, which, options) : revokeGateway(io, gateway, options);
    });
}

async function revokeCluster(io: Io, name: string, { reason, yes, output }: Revoking): Promise<void> {
  const question = `Cut the cluster ${name} off? It comes back with a new import manifest only.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing revoked');
  const path = `${clusterPath(name)}/revocation`;
  const cluster = await withApi(io, (api) => api.ask(Cluster, path, { method: 'POST', body: { reason } }));
  if (output === 'json') return printJson(io, cluster);
  printLines(io, `cluster ${cluster.name} cut off`);
  printHint(io, `to bring it back: fairlead cluster import ${cluster.name} | kubectl apply -f -`);
}

async function list(io: Io, cluster: string | undefined, { output, gateways }: Listing): Promise<void> {
  if ((cluster === undefined) !== (gateways === true)) {
    throw usage(
      'either a cluster or --gateways is wanted',
      'fairlead certificate list NAME, or fairlead certificate list --gateways',
    );
  }
  const path = cluster === undefined ? `${GATEWAYS}/certificates` : `${clusterPath(cluster)}/certificates`;
  const certificates = await withApi(io, (api) => allCertificates(api, path));
  if (output === 'json') return printJson(io, { certificates });
  if (certificates.length === 0) return printHint(io, `${cluster ?? 'a gateway'} has not enrolled yet`);
  const whose = (each: CertificateRecord): string =>
    cluster === undefined ? (/gateway\/[^/]+$/.exec(each.names[0] ?? '')?.[0] ?? '') : String(each.generation ?? '');
  printTable(
    io,
    ['SERIAL', cluster === undefined ? 'GATEWAY' : 'ENROLMENT', 'FROM', 'UNTIL', 'STATUS'],
    certificates.map((each) => [each.serial, whose(each), each.notBefore, each.notAfter, statusOf(each, io.now())]),
  );
}

function allCertificates(api: ApiClient, list: string): Promise<CertificateRecord[]> {
  return allPages(api, CertificateList, list, ({ certificates }) => certificates);
}

async function revokeCertificate(io: Io, serial: string, { reason, yes, output }: Revoking): Promise<void> {
  if (!(await confirmed(io, `Revoke the certificate ${serial}? It cannot be undone.`, yes))) {
    return printLines(io, 'nothing revoked');
  }
  const path = `/v1/certificates/${encodeURIComponent(serial)}/revocation`;
  const record = await withApi(io, (api) => api.ask(CertificateRecord, path, { method: 'POST', body: { reason } }));
  printResult(io, output, record, `certificate ${record.serial} revoked`);
}

async function revokeGateway(io: Io, name: string, { reason, yes, output }: Revoking): Promise<void> {
  const question = `Revoke all certificates of the gateway ${name}? It cannot be undone.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing revoked');
  const path = `${GATEWAYS}/${encodeURIComponent(name)}/revocation`;
  const revoked = await withApi(io, async (api) => {
    for (let total = 0; ;) {
      const answer = await api.ask(GatewayRevoked, path, { method: 'POST', body: { reason } });
      total += answer.revoked;
      // One that says so without getting any further is left.
      if (!answer.more || answer.revoked === 0) return total;
    }
  });
  printResult(io, output, { gateway: name, revoked }, `gateway ${name}: ${revoked} certificates revoked`);
}

function statusOf({ revokedAt, revokedFor, notAfter }: CertificateRecord, now: Date): string {
  if (revokedAt !== null) return `revoked ${revokedAt}: ${revokedFor ?? ''}`;
  return Date.parse(notAfter) < now.getTime() ? 'expired' : 'valid';
}

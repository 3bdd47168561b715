import 'reflect-metadata';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  parseLabelSelector,
  registrationRpc,
  selectsLabels,
  type Client,
  type Cluster,
  type CreateCluster,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, RpcServer, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { checkCsr, issueIdentity } from '@fairlead/pki';
import { Controller, Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { SecuredNats } from '@fairlead/messaging/testing';
import { AccessControlsScript, AccessScript } from './scripted-access.js';
import { AuditScript } from './scripted-audit.js';
import { ApprovalScript } from './scripted-approval.js';
import { CaScript } from './scripted-ca.js';
import { CatalogScript } from './scripted-catalog.js';
import { CredentialsScript } from './scripted-credentials.js';
import { EndpointsScript } from './scripted-endpoints.js';
import { GitKeysScript } from './scripted-git-keys.js';
import { GitOpsScript } from './scripted-gitops.js';
import { KeysScript } from './scripted-keys.js';
import { LoginsScript } from './scripted-logins.js';
import { PassagesScript } from './scripted-passages.js';
import { Script } from './script.js';
import { SubscribersScript } from './scripted-subscribers.js';
import { ForgottenTenantsScript, TenantsScript } from './scripted-tenants.js';

export { Script };

export interface ScriptedServices extends AsyncDisposable {
  stopRegistration(): Promise<void>;
  startRegistration(): Promise<void>;
  stopGitops(): Promise<void>;
  startGitops(): Promise<void>;
}

/** Answers as registration, as keys, as gitops, as the access service and, if it is said, as the audit service. */
export async function serveScript(
  nats: SecuredNats,
  script: Script,
  says: { readonly audit: boolean } = { audit: true },
): Promise<ScriptedServices> {
  const keys = await serve(nats, 'keys', script);
  const access = await serve(nats, 'access', script);
  const audit = says.audit ? await serve(nats, 'audit', script) : undefined;
  let gitops = await serve(nats, 'gitops', script);
  let registration = await serve(nats, 'registration', script);
  return {
    stopRegistration: () => registration.close(),
    startRegistration: async () => {
      registration = await serve(nats, 'registration', script);
    },
    stopGitops: () => gitops.close(),
    startGitops: async () => {
      gitops = await serve(nats, 'gitops', script);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([keys.close(), access.close(), audit?.close(), gitops.close(), registration.close()]);
    },
  };
}

type R = typeof registrationRpc;

@Controller()
class RegistrationScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(registrationRpc.createCluster)
  async createCluster({
    tenantId,
    input: { by, ...input },
  }: RpcRequest<R['createCluster']>): RpcResult<R['createCluster']> {
    this.script.clustersBy.push(by);
    this.#fail();
    if (this.script.clusters.has(input.name)) {
      throw new FairleadError('ALREADY_EXISTS', `there is a cluster ${input.name} already`);
    }
    const cluster = newCluster(tenantId, input);
    this.script.clusters.set(input.name, cluster);
    return cluster;
  }

  @RpcHandler(registrationRpc.listClusters)
  async listClusters({ input }: RpcRequest<R['listClusters']>): RpcResult<R['listClusters']> {
    const { after = '', selector, names } = input;
    this.#fail();
    const left = [...this.script.clusters.values()].filter(
      ({ name, labels }) =>
        name > after &&
        (names?.includes(name) ?? true) &&
        selectsLabels(selector ? parseLabelSelector(selector) : [], labels),
    );
    const clusters = left.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, this.script.pageSize);
    const next = clusters.at(-1)?.name;
    return clusters.length < left.length && next !== undefined ? { clusters, next } : { clusters };
  }

  @RpcHandler(registrationRpc.getCluster)
  async getCluster({ input }: RpcRequest<R['getCluster']>): RpcResult<R['getCluster']> {
    this.#fail();
    return this.#known(input.name);
  }

  @RpcHandler(registrationRpc.updateCluster)
  async updateCluster({ input }: RpcRequest<R['updateCluster']>): RpcResult<R['updateCluster']> {
    const known = this.#known(input.name);
    const { links = known.links, targets = known.targets, egress = known.egress, gitops = known.gitops } = input;
    const { manifestValues = known.manifestValues } = input;
    const labels = Object.entries({ ...known.labels, ...input.labels }).filter((each) => each[1] !== null);
    const changed = {
      ...known,
      labels: Object.fromEntries(labels) as Cluster['labels'],
      links,
      targets,
      egress,
      gitops,
      manifestValues,
    };
    this.script.clusters.set(known.name, changed);
    return changed;
  }

  @RpcHandler(registrationRpc.deleteCluster)
  async deleteCluster({ input }: RpcRequest<R['deleteCluster']>): RpcResult<R['deleteCluster']> {
    this.script.clustersBy.push(input.by);
    this.script.clusters.delete(this.#known(input.name).name);
    return {};
  }

  @RpcHandler(registrationRpc.revokeCluster)
  async revokeCluster({ input }: RpcRequest<R['revokeCluster']>): RpcResult<R['revokeCluster']> {
    return this.#known(input.name);
  }

  @RpcHandler(registrationRpc.createImportLink)
  async createImportLink({ input }: RpcRequest<R['createImportLink']>): RpcResult<R['createImportLink']> {
    const code = randomBytes(32).toString('base64url');
    this.script.links.set(code, this.#known(input.name).name);
    return { code, expiresAt: new Date(Date.now() + 600_000).toISOString() };
  }

  @RpcHandler(registrationRpc.redeemImportLink)
  async redeemImportLink({ input }: RpcRequest<R['redeemImportLink']>): RpcResult<R['redeemImportLink']> {
    this.#fail();
    const name = this.script.links.get(input.code);
    if (name === undefined) throw new FairleadError('NOT_FOUND', 'there is no such import link');
    if (name === '') throw new FairleadError('GONE', 'the import link was used or has expired');
    this.script.links.set(input.code, '');
    return { manifest: `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: fairlead-${name}\n` };
  }

  @RpcHandler(registrationRpc.createClient)
  async createClient({ tenantId, input }: RpcRequest<R['createClient']>): RpcResult<R['createClient']> {
    this.#fail();
    const { name, clusters } = input;
    for (const cluster of clusters ?? []) this.#known(cluster);
    const { authority, clients } = this.script;
    const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
    const known = clients.get(name);
    if (known && String(known.clusters) !== String(clusters)) {
      throw new FairleadError('ALREADY_EXISTS', `there is a client ${name} already`);
    }
    const id = known?.id ?? randomUUID();
    const validity = { notBefore: new Date(), notAfter: new Date(Date.now() + this.script.certificateMs) };
    const spiffe = { kind: 'client', trustDomain: authority.trustDomain, name: id } as const;
    const leaf = await issueIdentity(authority.issuing, { csr, id: spiffe, ...validity });
    const notAfter = validity.notAfter.toISOString();
    const client: Client = { id, tenantId, name, clusters, createdAt: new Date().toISOString(), notAfter };
    clients.set(name, client);
    const chain = [leaf.certificatePem, authority.issuing.certificatePem, authority.root.certificatePem];
    return { client, chain, roots: [...authority.roots] };
  }

  @RpcHandler(registrationRpc.listClients)
  async listClients({ input: { after = '' } }: RpcRequest<R['listClients']>): RpcResult<R['listClients']> {
    this.#fail();
    const left = [...this.script.clients.values()].filter(({ name }) => name > after);
    const clients = left.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, this.script.pageSize);
    const next = clients.at(-1)?.name;
    return clients.length < left.length && next !== undefined ? { clients, next } : { clients };
  }

  @RpcHandler(registrationRpc.deleteClient)
  async deleteClient({ input }: RpcRequest<R['deleteClient']>): RpcResult<R['deleteClient']> {
    if (this.script.clients.delete(input.name)) return {};
    throw new FairleadError('NOT_FOUND', `there is no client ${input.name}`);
  }

  #known(name: string): Cluster {
    const cluster = this.script.clusters.get(name);
    if (!cluster) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
    return cluster;
  }

  #fail(): void {
    const failure = this.script.nextFailure;
    this.script.nextFailure = undefined;
    if (failure) throw failure;
  }
}

const SCRIPTS = {
  audit: [AuditScript, SubscribersScript],
  access: [AccessScript, AccessControlsScript, LoginsScript, ForgottenTenantsScript],
  keys: [KeysScript, CaScript, EndpointsScript, GitKeysScript],
  gitops: [CatalogScript, GitOpsScript],
  registration: [RegistrationScript, ApprovalScript, CredentialsScript, PassagesScript, TenantsScript],
};

@Module({})
class ScriptModule {}

async function serve(
  nats: SecuredNats,
  role: keyof typeof SCRIPTS,
  script: Script,
): Promise<{ close(): Promise<void> }> {
  const connection = await nats.connect({ role, credential: role });
  const module: DynamicModule = {
    module: ScriptModule,
    controllers: SCRIPTS[role],
    providers: [{ provide: Script, useValue: script }],
  };
  const strategy = new RpcServer({ connection, queue: role, logger: silentLogger });
  const app = await NestFactory.createMicroservice(module, { strategy, logger: false });
  await app.listen();
  await connection.flush();
  return app;
}

function newCluster(
  tenantId: string,
  { name, labels, links, targets, egress, gitops, manifestValues }: Required<CreateCluster>,
): Cluster {
  return {
    id: randomUUID(),
    tenantId,
    name,
    labels,
    links,
    targets,
    egress,
    gitops,
    manifestValues,
    generation: 0,
    createdAt: new Date().toISOString(),
    enrolledAt: null,
    facts: null,
    presence: {
      state: 'never',
      replicas: [],
      liveReplicas: 0,
      since: null,
      agents: [],
      duplicate: null,
      lastError: null,
    },
    revision: 'made',
  };
}

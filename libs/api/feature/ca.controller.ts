import { NO_TENANT, keysRpc, registrationRpc, type CaStatus, type RotateCa } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import type { CertificateAuthority } from '../contract/ca-operations.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** The CA and what it issued. It belongs to the installation, not to a tenant. */
@Controller()
export class CaController {
  constructor(private readonly backend: Backend) {}

  @Serve('getCa')
  async get(@Asked() { tenantId }: Call<'getCa'>) {
    return this.#named(tenantId, await this.backend.read(keysRpc.caStatus, NO_TENANT, {}));
  }

  @Serve('prepareCa')
  prepare(@Asked() { tenantId }: Call<'prepareCa'>) {
    return this.#go(tenantId, { step: 'prepare', force: false });
  }

  @Serve('activateCa')
  activate(@Asked() { tenantId, body }: Call<'activateCa'>) {
    return this.#go(tenantId, { step: 'activate', ...body });
  }

  @Serve('retireCa')
  retire(@Asked() { tenantId, body }: Call<'retireCa'>) {
    return this.#go(tenantId, { step: 'retire', ...body });
  }

  @Serve('abortCa')
  abort(@Asked() { tenantId }: Call<'abortCa'>) {
    return this.#go(tenantId, { step: 'abort', force: false });
  }

  @Serve('listCertificates')
  async listCertificates(@Asked() { tenantId, params, query }: Call<'listCertificates'>) {
    const { id: clusterId } = await this.backend.read(registrationRpc.getCluster, tenantId, params);
    return this.backend.read(keysRpc.listCertificates, tenantId, { clusterId, ...query });
  }

  @Serve('revokeCertificate')
  revokeCertificate(@Asked() { tenantId, params, body }: Call<'revokeCertificate'>) {
    return this.backend.write(keysRpc.revokeCertificate, tenantId, { ...params, ...body });
  }

  @Serve('listGatewayCertificates')
  listGatewayCertificates(@Asked() { query }: Call<'listGatewayCertificates'>) {
    return this.backend.read(keysRpc.listGatewayCertificates, NO_TENANT, query);
  }

  @Serve('revokeGateway')
  revokeGateway(@Asked() { params, body }: Call<'revokeGateway'>) {
    return this.backend.write(keysRpc.revokeGateway, NO_TENANT, { ...params, ...body });
  }

  async #go(tenantId: string, step: RotateCa): Promise<CertificateAuthority> {
    return this.#named(tenantId, await this.backend.write(keysRpc.rotateCa, NO_TENANT, step));
  }

  /** `keys` knows clusters by their ids only. */
  async #named(tenantId: string, status: CaStatus): Promise<CertificateAuthority> {
    const { rotation } = status;
    if (!rotation) return { ...status, rotation };
    const ids = new Set(rotation.waitingFor.map(({ clusterId }) => clusterId));
    const names = await this.#namesOf(tenantId, ids);
    const waitingFor = rotation.waitingFor.map((each) => ({ ...each, name: names.get(each.clusterId) ?? null }));
    return { ...status, rotation: { ...rotation, waitingFor } };
  }

  async #namesOf(tenantId: string, ids: ReadonlySet<string>): Promise<Map<string, string>> {
    const names = new Map<string, string>();
    let after: string | undefined;
    while (names.size < ids.size) {
      const page = await this.backend.read(registrationRpc.listClusters, tenantId, { after });
      for (const { id, name } of page.clusters) if (ids.has(id)) names.set(id, name);
      if (page.next === undefined) break;
      after = page.next;
    }
    return names;
  }
}

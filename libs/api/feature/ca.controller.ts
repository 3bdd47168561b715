import { NO_TENANT, keysRpc, registrationRpc, type CaStatus, type Principal, type RotateCa } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import type { CertificateAuthority } from '../contract/ca-operations.js';
import { operations } from '../contract/operations.js';
import { CurrentPrincipal, JsonBody, Serve } from '../http/serve.js';
import { Backend } from './backend.js';

interface Step {
  readonly force: boolean;
}

/** The CA belongs to the installation, not to a tenant: whoever administers any sees it. */
@Controller()
export class CaController {
  constructor(private readonly backend: Backend) {}

  @Serve(operations.getCa)
  async get(@CurrentPrincipal() { tenantId }: Principal): Promise<CertificateAuthority> {
    return this.#named(tenantId, await this.backend.read(keysRpc.caStatus, NO_TENANT, {}));
  }

  @Serve(operations.prepareCa)
  prepare(@CurrentPrincipal() { tenantId }: Principal): Promise<CertificateAuthority> {
    return this.#go(tenantId, { step: 'prepare', force: false });
  }

  @Serve(operations.activateCa)
  activate(
    @CurrentPrincipal() { tenantId }: Principal,
    @JsonBody(operations.activateCa) { force }: Step,
  ): Promise<CertificateAuthority> {
    return this.#go(tenantId, { step: 'activate', force });
  }

  @Serve(operations.retireCa)
  retire(
    @CurrentPrincipal() { tenantId }: Principal,
    @JsonBody(operations.retireCa) { force }: Step,
  ): Promise<CertificateAuthority> {
    return this.#go(tenantId, { step: 'retire', force });
  }

  @Serve(operations.abortCa)
  abort(@CurrentPrincipal() { tenantId }: Principal): Promise<CertificateAuthority> {
    return this.#go(tenantId, { step: 'abort', force: false });
  }

  async #go(tenantId: string, step: RotateCa): Promise<CertificateAuthority> {
    return this.#named(tenantId, await this.backend.write(keysRpc.rotateCa, NO_TENANT, step));
  }

  /** `keys` knows clusters by their ids only. */
  async #named(tenantId: string, status: CaStatus): Promise<CertificateAuthority> {
    const { rotation } = status;
    if (!rotation) return { ...status, rotation };
    const wanted = new Set(rotation.waitingFor.map(({ clusterId }) => clusterId));
    const names = await this.#namesOf(tenantId, wanted);
    const waitingFor = rotation.waitingFor.map((each) => ({ ...each, name: names.get(each.clusterId) ?? null }));
    return { ...status, rotation: { ...rotation, waitingFor } };
  }

  async #namesOf(tenantId: string, wanted: ReadonlySet<string>): Promise<Map<string, string>> {
    const names = new Map<string, string>();
    let after: string | undefined;
    while (names.size < wanted.size) {
      const page = await this.backend.read(
        registrationRpc.listClusters,
        tenantId,
        after === undefined ? {} : { after },
      );
      for (const { id, name } of page.clusters) if (wanted.has(id)) names.set(id, name);
      if (page.next === undefined) break;
      after = page.next;
    }
    return names;
  }
}

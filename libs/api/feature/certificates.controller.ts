import { NO_TENANT, keysRpc, registrationRpc, type CertificateRecord, type Principal } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { operations } from '../contract/operations.js';
import type { CertificateList, GatewayRevoked } from '../contract/schemas.js';
import { CurrentPrincipal, JsonBody, Params, Query, Serve } from '../http/serve.js';
import { Backend } from './backend.js';

@Controller()
export class CertificatesController {
  constructor(private readonly backend: Backend) {}

  @Serve(operations.listCertificates)
  async list(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.listCertificates) { name }: { readonly name: string },
    @Query(operations.listCertificates) { after }: { readonly after?: string },
  ): Promise<CertificateList> {
    const { id: clusterId } = await this.backend.read(registrationRpc.getCluster, tenantId, { name });
    return this.backend.read(keysRpc.listCertificates, tenantId, {
      clusterId,
      ...(after === undefined ? {} : { after }),
    });
  }

  @Serve(operations.revokeCertificate)
  revoke(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.revokeCertificate) { serial }: { readonly serial: string },
    @JsonBody(operations.revokeCertificate) { reason }: { readonly reason: string },
  ): Promise<CertificateRecord> {
    return this.backend.write(keysRpc.revokeCertificate, tenantId, { serial, reason });
  }

  @Serve(operations.listGatewayCertificates)
  listOfGateways(
    @Query(operations.listGatewayCertificates) { after }: { readonly after?: string },
  ): Promise<CertificateList> {
    return this.backend.read(keysRpc.listGatewayCertificates, NO_TENANT, after === undefined ? {} : { after });
  }

  @Serve(operations.revokeGateway)
  revokeGateway(
    @Params(operations.revokeGateway) { name }: { readonly name: string },
    @JsonBody(operations.revokeGateway) { reason }: { readonly reason: string },
  ): Promise<GatewayRevoked> {
    return this.backend.write(keysRpc.revokeGateway, NO_TENANT, { name, reason });
  }
}

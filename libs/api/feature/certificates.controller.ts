import { NO_TENANT, keysRpc, registrationRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

@Controller()
export class CertificatesController {
  constructor(private readonly backend: Backend) {}

  @Serve('listCertificates')
  async list(@Asked() { tenantId, params, query }: Call<'listCertificates'>) {
    const { id: clusterId } = await this.backend.read(registrationRpc.getCluster, tenantId, params);
    return this.backend.read(keysRpc.listCertificates, tenantId, { clusterId, ...query });
  }

  @Serve('revokeCertificate')
  revoke(@Asked() { tenantId, params, body }: Call<'revokeCertificate'>) {
    return this.backend.write(keysRpc.revokeCertificate, tenantId, { ...params, ...body });
  }

  @Serve('listGatewayCertificates')
  listOfGateways(@Asked() { query }: Call<'listGatewayCertificates'>) {
    return this.backend.read(keysRpc.listGatewayCertificates, NO_TENANT, query);
  }

  @Serve('revokeGateway')
  revokeGateway(@Asked() { params, body }: Call<'revokeGateway'>) {
    return this.backend.write(keysRpc.revokeGateway, NO_TENANT, { ...params, ...body });
  }
}

import { keysRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { StatementRevocationLists } from './statement-revocation-lists.js';
import { AuditCheckpoints } from './audit-checkpoints.js';
import { AccessStatementSigner } from './access-statement-signer.js';
import { CertificateIssuer } from './certificate-issuer.js';
import { LinkEndpoints } from './link-endpoints.js';
import { Revocations } from './revocations.js';
import { Rotation } from './rotation.js';

type Asked<Method extends keyof typeof keysRpc> = RpcRequest<(typeof keysRpc)[Method]>;

/** The keys service's side of its contract. */
@Controller()
export class KeysController {
  constructor(
    private readonly issuer: CertificateIssuer,
    private readonly revocations: Revocations,
    private readonly rotation: Rotation,
    private readonly linkEndpoints: LinkEndpoints,
    private readonly accessStatements: AccessStatementSigner,
    private readonly statementRevocations: StatementRevocationLists,
    private readonly auditCheckpoints: AuditCheckpoints,
  ) {}

  @RpcHandler(keysRpc.trustBundle)
  async trustBundle() {
    return this.issuer.trustBundle();
  }

  @RpcHandler(keysRpc.signAgent)
  async signAgent({ caller, tenantId, input }: Asked<'signAgent'>) {
    return this.issuer.signAgent(caller, tenantId, input);
  }

  @RpcHandler(keysRpc.renewAgent)
  async renewAgent({ caller, input }: Asked<'renewAgent'>) {
    return this.issuer.renewAgent(caller, input);
  }

  @RpcHandler(keysRpc.signGateway)
  async signGateway({ caller, input }: Asked<'signGateway'>) {
    return this.issuer.signGateway(caller, input);
  }

  @RpcHandler(keysRpc.signClient)
  async signClient({ caller, tenantId, input }: Asked<'signClient'>) {
    return this.issuer.signClient(caller, tenantId, input);
  }

  @RpcHandler(keysRpc.signServing)
  async signServing({ caller, input }: Asked<'signServing'>) {
    return this.issuer.signServing(caller, input);
  }

  @RpcHandler(keysRpc.revokeCertificate)
  async revokeCertificate({ caller, tenantId, input }: Asked<'revokeCertificate'>) {
    return this.revocations.revokeCertificate(caller, tenantId, input);
  }

  @RpcHandler(keysRpc.revokeGenerations)
  async revokeGenerations({ tenantId, input }: Asked<'revokeGenerations'>) {
    await this.revocations.revokeGenerations(tenantId, input);
    return {};
  }

  @RpcHandler(keysRpc.listCertificates)
  async listCertificates({ tenantId, input }: Asked<'listCertificates'>) {
    return this.revocations.list({ tenantId, clusterId: input.clusterId }, input.after);
  }

  @RpcHandler(keysRpc.listGatewayCertificates)
  async listGatewayCertificates({ input }: Asked<'listGatewayCertificates'>) {
    return this.revocations.list({ purpose: 'gateway' }, input.after);
  }

  @RpcHandler(keysRpc.revokeGateway)
  async revokeGateway({ caller, input }: Asked<'revokeGateway'>) {
    return this.revocations.revokeGateway(caller, input);
  }

  @RpcHandler(keysRpc.caStatus)
  async caStatus() {
    return this.rotation.status();
  }

  @RpcHandler(keysRpc.rotateCa)
  async rotateCa({ caller, input }: Asked<'rotateCa'>) {
    return this.rotation.rotate(caller, input);
  }

  @RpcHandler(keysRpc.endpoints)
  async endpoints() {
    return this.linkEndpoints.list();
  }

  @RpcHandler(keysRpc.putEndpoint)
  async putEndpoint({ caller, input: { by, ifRevision, ...endpoint } }: Asked<'putEndpoint'>) {
    return this.linkEndpoints.put(caller, { by, ifRevision }, endpoint);
  }

  @RpcHandler(keysRpc.removeEndpoint)
  async removeEndpoint({ caller, input: { address, ...asked } }: Asked<'removeEndpoint'>) {
    return this.linkEndpoints.remove(caller, asked, address);
  }

  @RpcHandler(keysRpc.signAccessStatement)
  async signAccessStatement({ tenantId, input }: Asked<'signAccessStatement'>) {
    return this.accessStatements.sign(tenantId, input.document);
  }

  @RpcHandler(keysRpc.putStatementRevocations)
  async putStatementRevocations({ tenantId, input }: Asked<'putStatementRevocations'>) {
    return this.statementRevocations.put(tenantId, input.document);
  }

  @RpcHandler(keysRpc.acknowledgeTrust)
  async acknowledgeTrust({ input }: Asked<'acknowledgeTrust'>) {
    await this.rotation.acknowledge(input.held);
    return {};
  }

  @RpcHandler(keysRpc.auditLog)
  async auditLog({ tenantId }: Asked<'auditLog'>) {
    return { tree: await this.auditCheckpoints.last(tenantId) };
  }

  @RpcHandler(keysRpc.signAuditTree)
  async signAuditTree({ tenantId, input }: Asked<'signAuditTree'>) {
    return this.auditCheckpoints.sign(tenantId, input);
  }

  @RpcHandler(keysRpc.beginAuditLogAnew)
  async beginAuditLogAnew({ tenantId, input }: Asked<'beginAuditLogAnew'>) {
    return this.auditCheckpoints.beginAnew(tenantId, input.after, input.first, input.by);
  }
}

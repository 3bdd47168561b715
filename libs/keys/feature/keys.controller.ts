import { keysRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { CertificateIssuer } from './certificate-issuer.js';
import { Revocations } from './revocations.js';
import { Rotation } from './rotation.js';

type Rpcs = typeof keysRpc;

/** The keys service's side of its contract. */
@Controller()
export class KeysController {
  readonly #issuer: CertificateIssuer;
  readonly #revocations: Revocations;
  readonly #rotation: Rotation;

  constructor(issuer: CertificateIssuer, revocations: Revocations, rotation: Rotation) {
    this.#issuer = issuer;
    this.#revocations = revocations;
    this.#rotation = rotation;
  }

  @RpcHandler(keysRpc.trustBundle)
  async trustBundle(_request: RpcRequest<Rpcs['trustBundle']>): RpcResult<Rpcs['trustBundle']> {
    return this.#issuer.trustBundle();
  }

  @RpcHandler(keysRpc.signAgent)
  async signAgent({ caller, tenantId, input }: RpcRequest<Rpcs['signAgent']>): RpcResult<Rpcs['signAgent']> {
    return this.#issuer.signAgent(caller, tenantId, input);
  }

  @RpcHandler(keysRpc.renewAgent)
  async renewAgent({ caller, input }: RpcRequest<Rpcs['renewAgent']>): RpcResult<Rpcs['renewAgent']> {
    return this.#issuer.renewAgent(caller, input);
  }

  @RpcHandler(keysRpc.signGateway)
  async signGateway({ caller, input }: RpcRequest<Rpcs['signGateway']>): RpcResult<Rpcs['signGateway']> {
    return this.#issuer.signGateway(caller, input);
  }

  @RpcHandler(keysRpc.signClient)
  async signClient({ caller, tenantId, input }: RpcRequest<Rpcs['signClient']>): RpcResult<Rpcs['signClient']> {
    return this.#issuer.signClient(caller, tenantId, input);
  }

  @RpcHandler(keysRpc.signServing)
  async signServing({ caller, input }: RpcRequest<Rpcs['signServing']>): RpcResult<Rpcs['signServing']> {
    return this.#issuer.signServing(caller, input);
  }

  @RpcHandler(keysRpc.revokeCertificate)
  async revokeCertificate({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['revokeCertificate']>): RpcResult<Rpcs['revokeCertificate']> {
    return this.#revocations.revokeCertificate(caller, tenantId, input);
  }

  @RpcHandler(keysRpc.revokeGenerations)
  async revokeGenerations({
    tenantId,
    input,
  }: RpcRequest<Rpcs['revokeGenerations']>): RpcResult<Rpcs['revokeGenerations']> {
    await this.#revocations.revokeGenerations(tenantId, input);
    return {};
  }

  @RpcHandler(keysRpc.listCertificates)
  async listCertificates({
    tenantId,
    input,
  }: RpcRequest<Rpcs['listCertificates']>): RpcResult<Rpcs['listCertificates']> {
    return this.#revocations.list({ tenantId, clusterId: input.clusterId }, input.after);
  }

  @RpcHandler(keysRpc.listGatewayCertificates)
  async listGatewayCertificates({
    input,
  }: RpcRequest<Rpcs['listGatewayCertificates']>): RpcResult<Rpcs['listGatewayCertificates']> {
    return this.#revocations.list({ purpose: 'gateway' }, input.after);
  }

  @RpcHandler(keysRpc.revokeGateway)
  async revokeGateway({ caller, input }: RpcRequest<Rpcs['revokeGateway']>): RpcResult<Rpcs['revokeGateway']> {
    return this.#revocations.revokeGateway(caller, input);
  }

  @RpcHandler(keysRpc.caStatus)
  async caStatus(_request: RpcRequest<Rpcs['caStatus']>): RpcResult<Rpcs['caStatus']> {
    return this.#rotation.status();
  }

  @RpcHandler(keysRpc.rotateCa)
  async rotateCa({ caller, input }: RpcRequest<Rpcs['rotateCa']>): RpcResult<Rpcs['rotateCa']> {
    return this.#rotation.rotate(caller, input);
  }

  @RpcHandler(keysRpc.acknowledgeTrust)
  async acknowledgeTrust({ input }: RpcRequest<Rpcs['acknowledgeTrust']>): RpcResult<Rpcs['acknowledgeTrust']> {
    await this.#rotation.acknowledge(input.held);
    return {};
  }
}

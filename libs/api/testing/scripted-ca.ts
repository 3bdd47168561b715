import { keysRpc, type CaRotation, type CaStatus } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type K = typeof keysRpc;

const NOBODY_WAITED_FOR: Omit<CaRotation, 'step'> = {
  since: '2026-11-01T00:00:00.000Z',
  clusters: 0,
  clustersDone: 0,
  waitingFor: [],
  gateways: [],
  otherCertificates: 0,
  otherCertificatesUntil: null,
};

/** The keys service, as far as it is about its own root. */
@Controller()
export class CaScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(keysRpc.caStatus)
  async caStatus(_request: RpcRequest<K['caStatus']>): RpcResult<K['caStatus']> {
    return this.script.ca;
  }

  @RpcHandler(keysRpc.rotateCa)
  async rotateCa({ input: { step, force } }: RpcRequest<K['rotateCa']>): RpcResult<K['rotateCa']> {
    const { rotation } = this.script.ca;
    if (rotation && rotation.clustersDone < rotation.clusters && !force && step !== 'abort') {
      throw new FairleadError('CONFLICT', `${rotation.clusters - rotation.clustersDone} clusters do not trust it yet`);
    }
    const rotations: Record<typeof step, CaStatus['rotation']> = {
      prepare: { ...NOBODY_WAITED_FOR, step: 'prepared' },
      activate: { ...NOBODY_WAITED_FOR, step: 'activated' },
      retire: null,
      abort: null,
    };
    this.script.ca = { ...this.script.ca, trustVersion: this.script.ca.trustVersion + 1, rotation: rotations[step] };
    return this.script.ca;
  }
}

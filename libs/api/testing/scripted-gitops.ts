import { createHash, randomUUID } from 'node:crypto';
import {
  VERIFIED_BY,
  gitopsRpc,
  type Assignment,
  type ClusterGitOps,
  type Rollout,
  type ShownAssignment,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { pageByPlace, placeSince } from './page-by-place.js';
import { Script } from './script.js';

type O = typeof gitopsRpc;

/** Of a cluster that nothing is wanted of, unless said otherwise. */
export function clusterGitOps(name: string, rest: Partial<ClusterGitOps> = {}): ClusterGitOps {
  return {
    clusterId: randomUUID(),
    name,
    assignment: null,
    revision: 0,
    wish: null,
    report: null,
    reportedAt: null,
    health: 'unassigned',
    waitsFor: null,
    deployKey: null,
    ...rest,
  };
}

/** What an installer says that brought everything to this revision, unless said otherwise. */
export function installerReport(
  appliedRevision: number,
  rest: Partial<NonNullable<ClusterGitOps['report']>> = {},
): NonNullable<ClusterGitOps['report']> {
  return {
    version: 1,
    clusterId: randomUUID(),
    installerVersion: '0.1.0',
    installerInstance: randomUUID(),
    observedRevision: appliedRevision,
    appliedRevision,
    bundleDigest: 'ab'.repeat(32),
    wantedBundle: null,
    phase: 'healthy',
    problem: null,
    publicKeys: [],
    source: null,
    sync: null,
    functionalAt: null,
    ...rest,
  };
}

/** A rollout in its first of two waves, unless said otherwise. */
export function rollout(assignment: string, rest: Partial<Rollout> = {}): Rollout {
  const wave = { clusters: 1, healthy: 0, failed: 0, waiting: 1 };
  const waves = [wave, { ...wave, clusters: 4, waiting: 4 }];
  const startedAt = new Date().toISOString();
  return {
    id: randomUUID(),
    assignment,
    state: 'running',
    wave: 0,
    waves,
    reason: null,
    startedAt,
    endedAt: null,
    ...rest,
  };
}

const AFTER = { pause: 'paused', resume: 'running', abort: 'aborted', 'roll-back': 'rolling-back' } as const;

/** The gitops service, as far as it is about what clusters are to run. */
@Controller()
export class GitOpsScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(gitopsRpc.putAssignment)
  async put({
    input: { actor, ifRevision, ...assignment },
  }: RpcRequest<O['putAssignment']>): RpcResult<O['putAssignment']> {
    const { selector, tool, bundleVersion, repository } = assignment;
    if ('cluster' in selector && !this.script.clusters.has(selector.cluster)) {
      throw new FairleadError('NOT_FOUND', `there is no cluster named ${selector.cluster}`);
    }
    if (!this.script.bundles.has(`${tool} ${bundleVersion}`)) {
      throw new FairleadError('NOT_FOUND', `there is no bundle ${tool} ${bundleVersion}`);
    }
    if (repository !== null && !this.script.repositories.has(repository)) {
      throw new FairleadError('NOT_FOUND', `there is no repository named ${repository}`);
    }
    if (assignment.verification && !VERIFIED_BY[tool].includes(assignment.verification.type)) {
      throw new FairleadError('INVALID_ARGUMENT', `${tool} verifies no SSH signatures`);
    }
    if (this.script.assignmentFailure) throw this.script.assignmentFailure;
    this.#expect(assignment.name, ifRevision);
    this.script.actors.push(actor);
    this.script.assignments.set(assignment.name, assignment);
    return shown(assignment);
  }

  @RpcHandler(gitopsRpc.listAssignments)
  async list(_request: RpcRequest<O['listAssignments']>): RpcResult<O['listAssignments']> {
    const assignments = [...this.script.assignments.values()].map(shown);
    this.script.meanwhile();
    return { assignments };
  }

  @RpcHandler(gitopsRpc.removeAssignment)
  async remove({ input }: RpcRequest<O['removeAssignment']>): RpcResult<O['removeAssignment']> {
    const { name, remove, ifRevision } = input;
    if (this.script.assignments.has(name)) this.#expect(name, ifRevision);
    if (!this.script.assignments.delete(name)) {
      throw new FairleadError('NOT_FOUND', `there is no assignment named ${name}`);
    }
    this.script.removals.push(remove);
    return {};
  }

  @RpcHandler(gitopsRpc.listRollouts)
  async rollouts({ input }: RpcRequest<O['listRollouts']>): RpcResult<O['listRollouts']> {
    const all = [...this.script.rollouts.values()];
    const place = ({ startedAt, id }: Rollout): string => placeSince(startedAt, id);
    const { items: rollouts, ...next } = pageByPlace(this.script, all, input.after, place);
    return { rollouts, ...next };
  }

  @RpcHandler(gitopsRpc.steerRollout)
  async steer({ input: { id, step } }: RpcRequest<O['steerRollout']>): RpcResult<O['steerRollout']> {
    const known = this.script.rollouts.get(id);
    if (!known) throw new FairleadError('NOT_FOUND', 'there is no such rollout');
    if (known.endedAt !== null) throw new FairleadError('CONFLICT', `the rollout is ${known.state}: it cannot ${step}`);
    const steered = { ...known, state: AFTER[step] };
    this.script.rollouts.set(id, steered);
    return steered;
  }

  @RpcHandler(gitopsRpc.breaker)
  async breaker(_request: RpcRequest<O['breaker']>): RpcResult<O['breaker']> {
    return this.script.breaker;
  }

  @RpcHandler(gitopsRpc.resetBreaker)
  async reset({ input: { actor } }: RpcRequest<O['resetBreaker']>): RpcResult<O['resetBreaker']> {
    this.script.actors.push(actor);
    this.script.breaker = { state: 'closed', code: null, clusters: 0, of: this.script.breaker.of, since: null };
    return this.script.breaker;
  }

  @RpcHandler(gitopsRpc.clusterStatus)
  async status({ input: { name } }: RpcRequest<O['clusterStatus']>): RpcResult<O['clusterStatus']> {
    return this.#known(name);
  }

  @RpcHandler(gitopsRpc.listClusterStatus)
  async statuses({ input: { after = '' } }: RpcRequest<O['listClusterStatus']>): RpcResult<O['listClusterStatus']> {
    const left = [...this.script.statuses.values()].filter(({ name }) => name > after);
    const clusters = left.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, this.script.pageSize);
    const next = clusters.at(-1)?.name;
    return clusters.length < left.length && next !== undefined ? { clusters, next } : { clusters };
  }

  @RpcHandler(gitopsRpc.clusterEvents)
  async events({ input: { name } }: RpcRequest<O['clusterEvents']>): RpcResult<O['clusterEvents']> {
    this.#known(name);
    return { events: this.script.gitopsEvents };
  }

  @RpcHandler(gitopsRpc.rotateDeployKey)
  async rotate({ input }: RpcRequest<O['rotateDeployKey']>): RpcResult<O['rotateDeployKey']> {
    const { name, reason, actor } = input;
    const status = this.#known(name);
    if (this.script.rotationsRefused.has(name)) {
      throw new FairleadError('CONFLICT', `the deploy key of ${name} is being rotated already`);
    }
    this.script.actors.push(actor);
    this.script.rotations.push(`${name} ${reason}`);
    return reason === 'compromise' ? { ...status, alsoReplaced: this.script.alsoReplaced } : status;
  }

  #expect(name: string, revision: string | null | undefined): void {
    const held = this.script.assignments.get(name);
    if (revision === undefined || revision === (held ? shown(held).revision : null)) return;
    throw new FairleadError('REVISION_CONFLICT', `somebody changed the assignment ${name} meanwhile`);
  }

  #known(name: string): ClusterGitOps {
    const status = this.script.statuses.get(name);
    if (!status) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
    return status;
  }
}

function shown(assignment: Assignment): ShownAssignment {
  const revision = createHash('sha256').update(JSON.stringify(assignment)).digest('hex').slice(0, 32);
  return { ...assignment, revision };
}

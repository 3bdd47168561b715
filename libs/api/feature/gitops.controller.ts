import {
  gitopsRpc,
  type Assignment,
  type Breaker,
  type Principal,
  type Rollout,
  type ShownAssignment,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Controller } from '@nestjs/common';
import type { z } from 'zod';
import { gitopsOperations, type AssignmentList, type RolloutList } from '../contract/gitops-operations.js';
import { IfRevision } from '../http/revisions.js';
import { CurrentPrincipal, JsonBody, Params, Query, Serve } from '../http/serve.js';
import { Backend } from './backend.js';

interface ByName {
  readonly name: string;
}

type Removal = Pick<z.infer<typeof gitopsRpc.removeAssignment.input>, 'remove'>;
type Step = Pick<z.infer<typeof gitopsRpc.steerRollout.input>, 'step'>;

/** What clusters are to run, and how changes reach them. */
@Controller()
export class GitOpsController {
  constructor(private readonly backend: Backend) {}

  @Serve(gitopsOperations.listAssignments)
  assignments(@CurrentPrincipal() { tenantId }: Principal): Promise<AssignmentList> {
    return this.backend.read(gitopsRpc.listAssignments, tenantId, {});
  }

  @Serve(gitopsOperations.getAssignment)
  async assignment(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(gitopsOperations.getAssignment) { name }: ByName,
  ): Promise<ShownAssignment> {
    const { assignments } = await this.backend.read(gitopsRpc.listAssignments, tenantId, {});
    const assignment = assignments.find((each) => each.name === name);
    if (!assignment) throw new FairleadError('NOT_FOUND', `there is no assignment ${name}`);
    return assignment;
  }

  @Serve(gitopsOperations.putAssignment)
  put(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(gitopsOperations.putAssignment) { name }: ByName,
    @JsonBody(gitopsOperations.putAssignment) body: Omit<Assignment, 'name'>,
    @IfRevision() ifRevision: string | null | undefined,
  ): Promise<ShownAssignment> {
    return this.backend.write(gitopsRpc.putAssignment, tenantId, { ...body, name, actor, ifRevision });
  }

  @Serve(gitopsOperations.removeAssignment)
  async remove(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(gitopsOperations.removeAssignment) { name }: ByName,
    @Query(gitopsOperations.removeAssignment) { remove }: Removal,
    @IfRevision() ifRevision: string | null | undefined,
  ): Promise<void> {
    await this.backend.write(gitopsRpc.removeAssignment, tenantId, { name, remove, actor, ifRevision });
  }

  @Serve(gitopsOperations.listRollouts)
  rollouts(@CurrentPrincipal() { tenantId }: Principal): Promise<RolloutList> {
    return this.backend.read(gitopsRpc.listRollouts, tenantId, {});
  }

  @Serve(gitopsOperations.steerRollout)
  steer(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(gitopsOperations.steerRollout) { id }: { readonly id: string },
    @JsonBody(gitopsOperations.steerRollout) { step }: Step,
  ): Promise<Rollout> {
    return this.backend.write(gitopsRpc.steerRollout, tenantId, { id, step, actor });
  }

  @Serve(gitopsOperations.getBreaker)
  breaker(@CurrentPrincipal() { tenantId }: Principal): Promise<Breaker> {
    return this.backend.read(gitopsRpc.breaker, tenantId, {});
  }

  @Serve(gitopsOperations.resetBreaker)
  resetBreaker(@CurrentPrincipal() { tenantId, user: actor }: Principal): Promise<Breaker> {
    return this.backend.write(gitopsRpc.resetBreaker, tenantId, { actor });
  }
}

import type { DesiredState } from '@fairlead/desired-state';
import type { ToolDriver } from '../drivers/driver.js';
import type { Told } from '../report/make-report.js';
import type { OwnObjects } from '../state/own-objects.js';
import type { ToolKeeperParts } from '../task.js';

/** Nothing of ours is wanted any more. */
export async function removeTool(
  parts: ToolKeeperParts,
  _own: OwnObjects,
  _drivers: readonly ToolDriver[],
  desired: DesiredState,
  _signal: AbortSignal,
): Promise<Told> {
  await parts.keeper.keep({ appliedRevision: desired.revision });
  return { phase: 'off', problem: null };
}

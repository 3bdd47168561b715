import { HANDOVER, InstallerReport } from '@fairlead/desired-state';
import type { World } from './world.js';

export type Report = InstallerReport;

/** What the installer says in its cluster, whoever hears it. */
export async function installerReport({ kubectl }: Pick<World, 'kubectl'>): Promise<Report> {
  const text = await kubectl(['get', 'configmap', HANDOVER.report, '-n', 'fairlead-system', '-o', 'json']);
  const { data } = JSON.parse(text) as { data: Record<string, string> };
  return InstallerReport.parse(JSON.parse(data[HANDOVER.keys.report] ?? 'null'));
}

/** How far its story is. */
export async function storyOf(world: Pick<World, 'kubectl'>): Promise<{ instance: string; sequence: number }> {
  const { installerInstance: instance, events } = await installerReport(world);
  return { instance, sequence: events.at(-1)?.sequence ?? 0 };
}

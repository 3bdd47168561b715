import type { ObjectEvent } from '@fairlead/desired-state';
import { eventually } from '@fairlead/testing';
import { expect } from 'vitest';
import { installerReport, storyOf, type Report } from './report.js';
import type { World } from './world.js';

type Step = ObjectEvent['step'];

export interface Damage {
  /** Breaks something. */
  readonly harm: () => Promise<unknown>;
  /** Throws until what was broken is as it was. */
  readonly undone: () => Promise<unknown>;
  /** Counted from when it was broken, until everything is healthy. */
  readonly withinMs: number;
  /** Steps that the story tells of it, in this order, among others. */
  readonly story?: readonly (readonly [step: Step, object: RegExp])[];
  /** Objects that it says were written, in whatever order. Asked when all is done. */
  readonly written?: () => readonly string[];
}

/** Breaks it, and sees it healed: the objects, and the installer's own word. Says how long that took. */
export async function heals(world: Pick<World, 'kubectl'>, damage: Damage): Promise<void> {
  const { instance, sequence } = await storyOf(world);
  await damage.harm();
  const beganMs = performance.now();
  const leftMs = (): number => Math.max(1, damage.withinMs - (performance.now() - beganMs));
  // A report has room for so much: of a long story its beginning is read before the end is there.
  const told = new Map<string, ObjectEvent>();
  const listen = async (): Promise<Report> => {
    const report = await installerReport(world);
    const since = report.installerInstance === instance ? sequence : 0;
    for (const event of report.events) {
      if (event.sequence > since) told.set(`${report.installerInstance}/${event.sequence}`, event);
    }
    return report;
  };
  await eventually(
    async () => {
      await listen();
      await damage.undone();
    },
    { timeoutMs: leftMs(), intervalMs: 250 },
  );
  await eventually(
    async () => {
      const { phase, problem } = await listen();
      expect({ phase, problem }).toEqual({ phase: 'healthy', problem: null });
      expectStory([...told.values()], damage);
    },
    { timeoutMs: leftMs(), intervalMs: 250 },
  );
  console.info(`healed in ${((performance.now() - beganMs) / 1_000).toFixed(1)} s`);
}

function expectStory(told: readonly ObjectEvent[], { story = [], written }: Damage): void {
  let from = 0;
  for (const [step, object] of [...story, ['healthy', /^$/] as const]) {
    const at = told.findIndex((event, index) => index >= from && event.step === step && object.test(event.object));
    expect(at, `no ${step} ${object.source} in ${JSON.stringify(told)}`).toBeGreaterThanOrEqual(from);
    from = at + 1;
  }
  const objects = told.filter(({ step }) => step === 'applied' || step === 'recreated').map(({ object }) => object);
  expect(objects).toEqual(expect.arrayContaining([...(written?.() ?? [])]));
}

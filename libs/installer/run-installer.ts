import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { fullJitterMs, type Clock } from '@fairlead/clock';
import { type InstallerReport, type ObjectEvent, HANDOVER } from '@fairlead/desired-state';
import { messageOf, toFairleadError } from '@fairlead/errors';
import { Wake } from '@fairlead/loop';
import type { Objects } from '@fairlead/kube/rest';
import type { Logger } from '@fairlead/observability';
import { Installer, type InstallerOptions, type InstallerProcess } from './installer.js';
import { fencedObjects, type Term } from './lease/term.js';
import { Lease, LEASE_LIMITS, type LeaseLimits } from './lease/lease.js';
import { leaseObject } from './lease/lease-record.js';
import { History } from './report/history.js';
import { ownObjects } from './state/own-objects.js';
import { StateKeeper } from './state/state-keeper.js';
import { unblock, WebhookWatch, WEBHOOK_LIMITS } from './webhooks/webhook-watch.js';

const RETRY = { baseMs: 500, capMs: 30_000 };
/** After a phase that will change soon the next observation comes so soon. */
const SOON_MS = 1_000;

export interface RunOptions extends InstallerOptions {
  /** How often the cluster is looked at when nothing happens. */
  readonly intervalMs: number;
  readonly lease?: LeaseLimits;
  readonly onReport?: (report: InstallerReport) => void;
  /** Another installer acts in this cluster, and this one was ready to. */
  readonly onStandby?: () => void;
  /** An observation failed, and is tried again. */
  readonly onFailed?: () => void;
  /** It did something, or saw something new. */
  readonly onStep?: (step: ObjectEvent['step']) => void;
}

/**
 * Looks and repairs until the signal: at once when the agent hands something over, otherwise at the interval. Of several in one cluster
 * one acts, which holds the Lease; the others take over when it is gone.
 */
export async function runInstaller(options: RunOptions, signal: AbortSignal): Promise<void> {
  const wake = new Wake();
  const watching = watchHandover(options, wake, signal);
  const history = new History(
    () => new Date(options.clock.nowMs()),
    (step) => options.onStep?.(step),
  );
  const self = { instance: randomUUID(), history };
  const lease = leaseOf(options, self);
  const resigned = new AbortController();
  const keeping = lease.run(resigned.signal);
  for (let term = await lease.term(signal); term; term = await lease.term(signal)) {
    await actFor(term, options, self, wake, signal);
  }
  // Nothing is written any more.
  resigned.abort();
  await Promise.all([watching, keeping]);
}

async function actFor(
  term: Term,
  options: RunOptions,
  self: InstallerProcess,
  wake: Wake,
  stop: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([stop, term.over]);
  const objects = fencedObjects(options.objects, term);
  let installer: Installer | null = null;
  let failures = 0;
  while (!signal.aborted) {
    try {
      installer ??= await Installer.open({ ...options, objects }, self);
      const report = await installer.cycle(signal);
      options.onReport?.(report);
      failures = 0;
      await wake.wait(options.clock, pauseMs(report, options.intervalMs), signal);
    } catch (error) {
      if (signal.aborted) break;
      const { code } = toFairleadError(error);
      options.onFailed?.();
      options.logger.warn('installer.cycle_failed', { code, attempt: failures, reason: messageOf(error) });
      // Another one wrote it: what this one remembers is not how it is.
      if (code === 'CONFLICT') installer = null;
      await options.clock.sleep(fullJitterMs(failures, RETRY), signal).catch(() => undefined);
      failures += 1;
    }
  }
}

function pauseMs({ phase }: InstallerReport, intervalMs: number): number {
  const soon = phase === 'installing' || phase === 'repairing' || phase === 'removing';
  return soon ? Math.min(SOON_MS, intervalMs) : intervalMs;
}

/** A dead webhook may keep the Lease itself from being written: who cannot take it must be able to get past that, too. */
function leaseOf(options: RunOptions, { instance, history }: InstallerProcess): Lease {
  const { objects, namespace, clock, logger, drivers } = options;
  const limits = options.lease ?? LEASE_LIMITS;
  const webhooks = new WebhookWatch(objects, clock, history, namespace, options.webhooks ?? WEBHOOK_LIMITS);
  const blocked = leaseObject(namespace, {
    holder: '',
    acquireTime: null,
    renewTime: null,
    durationSeconds: 1,
    transitions: 0,
  });
  return new Lease({
    objects,
    namespace,
    holder: `${hostname()}_${instance}`,
    clock,
    limits,
    logger,
    onStandby: () => options.onStandby?.(),
    onFailed: async (error) => {
      const { held } = await StateKeeper.open(ownObjects(objects, namespace));
      await unblock({ webhooks, drivers, logger, desired: held.desired }, error, blocked);
    },
  });
}

/** What a watch that ended is begun anew after, at least. */
const WATCH_RETRY = { baseMs: 1_000, capMs: 30_000 };

/** Wakes the installer when the agent writes one of its ConfigMaps. It is only a hint: what counts is read at each observation. */
async function watchHandover(
  { objects, namespace, clock, logger }: { objects: Objects; namespace: string; clock: Clock; logger: Logger },
  wake: Wake,
  signal: AbortSignal,
): Promise<void> {
  const watchOne = async (name: string): Promise<void> => {
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
        for await (const _change of objects.watch(
          kind,
          { namespace, fieldSelector: `metadata.name=${name}` },
          signal,
        )) {
          attempt = 0;
          wake.call();
        }
      } catch (error) {
        logger.debug('installer.watch_failed', { name, reason: messageOf(error) });
      }
      await clock.sleep(WATCH_RETRY.baseMs + fullJitterMs(attempt, WATCH_RETRY), signal).catch(() => undefined);
    }
  };
  await Promise.all([watchOne(HANDOVER.desiredState), watchOne(HANDOVER.bundle)]);
}

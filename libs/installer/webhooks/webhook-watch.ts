import type { Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import { keyOf, refOf, shown, type KubeObject, type Objects } from '@fairlead/kube/rest';
import type { DesiredState } from '@fairlead/desired-state';
import type { Logger } from '@fairlead/observability';
import { underAnotherName } from '../apply/compare.js';
import type { ObjectResult } from '../apply/reconcile.js';
import type { Finding } from '../ladder/ladder-state.js';
import { ANNOTATIONS, FIELD_MANAGER } from '../names.js';
import type { History } from '../report/history.js';
import { concerns, type Webhook } from './matching.js';
import type { ToolDriver } from '../drivers/driver.js';

const KINDS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const;
/** What the API server answers when a webhook does not; one that says no answers 4xx. */
const NOT_ANSWERED = 500;
const NAMESPACE_NAME = 'kubernetes.io/metadata.name';

export interface WebhookLimits {
  /** For how long a webhook must have blocked writes before our namespaces are exempted from it. */
  readonly graceMs: number;
  /** After so long without a write that it blocked, it has its grace anew. More than the ladder waits between two writes. */
  readonly forgetMs: number;
}

export const WEBHOOK_LIMITS: WebhookLimits = { graceMs: 20_000, forgetMs: 120_000 };

/** From its first to its last write that was blocked. */
interface Blocked {
  readonly sinceMs: number;
  readonly lastMs: number;
}

interface Blocker {
  readonly configuration: KubeObject;
  readonly webhooks: readonly { readonly webhook: Webhook; readonly at: number }[];
}

/**
 * Finds the admission webhooks that keep us from writing, and gets past those that are dead (docs/adr/0028): where the API server says that
 * it could not call a webhook, nobody is there to answer for it, and repairs are desired, the namespaces of the tool and of the
 * installer are taken out of its `namespaceSelector`, and of no other's. One that answers no is a policy: it is told, with what to do,
 * and never touched.
 */
export class WebhookWatch {
  readonly #blocked = new Map<string, Blocked>();

  constructor(
    private readonly objects: Objects,
    private readonly clock: Clock,
    private readonly history: History,
    private readonly ownNamespace: string,
    private readonly limits: WebhookLimits = WEBHOOK_LIMITS,
  ) {}

  /** Writes go through. */
  passed(): void {
    this.#blocked.clear();
  }

  /** What webhooks have to do with writes that failed; null: nothing. */
  async blocking(
    results: readonly ObjectResult[],
    desiredObjects: readonly KubeObject[],
    namespaces: readonly string[],
    mayExempt: boolean,
  ): Promise<Finding | null> {
    const first = results.find(({ error }) => (error?.httpStatus ?? 0) >= 400);
    const object = desiredObjects.find((object) => first && keyOf(refOf(object)) === keyOf(first.ref));
    if (!first || !object) return null;
    const blockers = await this.#blockersOf(object);
    if (blockers.length === 0) return null;
    const silent = first.error?.httpStatus === NOT_ANSWERED ? await this.#silentFor(object) : null;
    const named = silent === null ? [] : onlyNamed(blockers, silent);
    if (silent === null || named.length === 0) return finding('WEBHOOK_DENIES', object, blockers, first);
    if (this.#blockedForMs(silent) >= this.limits.graceMs && mayExempt) {
      for (const blocker of named) await this.#exempt(blocker, [...namespaces, this.ownNamespace]);
    }
    return finding('WEBHOOK_BLOCKS', object, named, first);
  }

  /** Each webhook has its own time: that one is dead says nothing of another whose pods are being replaced. */
  #blockedForMs(name: string): number {
    const nowMs = this.clock.monotonicMs();
    const before = this.#blocked.get(name);
    const goesOn = before !== undefined && nowMs - before.lastMs <= this.limits.forgetMs;
    const sinceMs = goesOn ? before.sinceMs : nowMs;
    this.#blocked.set(name, { sinceMs, lastMs: nowMs });
    return nowMs - sinceMs;
  }

  /**
   * Name of the webhook that the API server could not call; null: it was something else. An apply of what the API server cannot read ends
   * with 500 too. A creation, of the same under another name and as a dry run, does not.
   */
  async #silentFor(object: KubeObject): Promise<string | null> {
    try {
      await this.objects.create(underAnotherName(object), true);
      return null;
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error;
      return error.details?.['httpStatus'] === NOT_ANSWERED ? uncalledIn(error.message) : null;
    }
  }

  async #blockersOf(object: KubeObject): Promise<Blocker[]> {
    const { namespace } = object.metadata;
    const found =
      namespace === undefined
        ? null
        : await this.objects.read({ apiVersion: 'v1', kind: 'Namespace', name: namespace });
    const labels = namespace === undefined ? null : { [NAMESPACE_NAME]: namespace, ...found?.metadata.labels };
    const blockers: Blocker[] = [];
    for (const kind of KINDS) {
      for (const configuration of await this.objects.list({ apiVersion: 'admissionregistration.k8s.io/v1', kind })) {
        const all = (configuration['webhooks'] ?? []) as Webhook[];
        const webhooks = all.flatMap((webhook, at) => (concerns(webhook, object, labels) ? [{ webhook, at }] : []));
        if (webhooks.length > 0) blockers.push({ configuration, webhooks });
      }
    }
    return blockers;
  }

  async #exempt({ configuration, webhooks }: Blocker, namespaces: readonly string[]): Promise<void> {
    const dead: { webhook: Webhook; at: number }[] = [];
    for (const one of webhooks) if (await isDead(this.objects, one.webhook)) dead.push(one);
    if (dead.length === 0) return;
    const { resourceVersion, annotations } = configuration.metadata;
    const selectors = dead.map(({ webhook, at }) => {
      const { matchExpressions = [], ...rest } = webhook.namespaceSelector ?? {};
      const expression = { key: NAMESPACE_NAME, operator: 'NotIn', values: [...new Set(namespaces)] };
      return {
        op: 'add',
        path: `/webhooks/${at}/namespaceSelector`,
        value: { ...rest, matchExpressions: [...matchExpressions, expression] },
      };
    });
    const body = [
      { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
      {
        op: 'add',
        path: '/metadata/annotations',
        value: { ...annotations, [ANNOTATIONS.exempted]: namespaces.join(',') },
      },
      ...selectors,
    ];
    await this.objects.patch(refOf(configuration), { type: 'json', body }, FIELD_MANAGER);
    const names = dead.map(({ webhook }) => webhook.name).join(', ');
    this.history.record(
      'applied',
      shown(refOf(configuration)),
      `nobody answers for ${names}: our namespaces are exempted from it`,
    );
  }
}

/**
 * Which webhook the API server could not call, in its own words. One that refuses chooses its status and its sentence itself, but not what
 * stands before it: `admission webhook "its name" denied the request`.
 */
export function uncalledIn(message: string): string | null {
  return /^[^"]*Internal error occurred: failed calling webhook "([^"]+)"/.exec(message)?.[1] ?? null;
}

function onlyNamed(blockers: readonly Blocker[], name: string): Blocker[] {
  return blockers
    .map(({ configuration, webhooks }) => ({
      configuration,
      webhooks: webhooks.filter(({ webhook }) => webhook.name === name),
    }))
    .filter(({ webhooks }) => webhooks.length > 0);
}

function finding(
  code: 'WEBHOOK_BLOCKS' | 'WEBHOOK_DENIES',
  object: KubeObject,
  blockers: readonly Blocker[],
  { error }: ObjectResult,
): Finding {
  const names = blockers
    .map(
      ({ configuration, webhooks }) =>
        `${shown(refOf(configuration))} (${webhooks.map(({ webhook }) => webhook.name).join(', ')})`,
    )
    .join('; ');
  const what = code === 'WEBHOOK_BLOCKS' ? 'does not answer, and so keeps us from writing' : 'may be what refuses';
  const remedy = `repair it, or exempt the namespace ${object.metadata.namespace ?? '(none)'} in its namespaceSelector`;
  return {
    layer: 'objects',
    code,
    message: `${names} ${what} ${shown(refOf(object))}: ${remedy}. ${error?.message ?? ''}`.slice(0, 900),
    workloads: [],
  };
}

/**
 * Does nobody answer for it? There is no such Service, or none of its endpoints is ready. One outside of the cluster cannot be looked at,
 * and is not taken for dead: it may be the company's policy engine, out of reach for a minute.
 */
async function isDead(objects: Objects, { clientConfig }: Webhook): Promise<boolean> {
  const service = clientConfig?.service;
  if (!service) return false;
  const { namespace, name } = service;
  if (!(await objects.read({ apiVersion: 'v1', kind: 'Service', namespace, name }))) return true;
  const slices = await objects.list(
    { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
    { namespace, labelSelector: `kubernetes.io/service-name=${name}` },
  );
  const endpoints = slices.flatMap(
    (slice) => (slice['endpoints'] ?? []) as { addresses?: string[]; conditions?: { ready?: boolean } }[],
  );
  return !endpoints.some(({ addresses = [], conditions }) => addresses.length > 0 && conditions?.ready !== false);
}

interface BlockedWriter {
  readonly webhooks: WebhookWatch;
  readonly drivers: readonly ToolDriver[];
  readonly logger: Logger;
  /** What is desired, as far as it is known. */
  readonly desired: DesiredState | null;
}

/** What of ours cannot be written at all is what a webhook that concerns everything keeps from us too. */
export async function unblock(
  { webhooks, drivers, logger, desired }: BlockedWriter,
  { code, message, details }: FairleadError,
  object: KubeObject,
): Promise<void> {
  const httpStatus = Number(details?.['httpStatus'] ?? 0);
  // Somebody else wrote it, which no webhook has to do with.
  if (httpStatus < 400 || code === 'CONFLICT') return;
  const failed = { ref: refOf(object), outcome: 'failed' as const, honoured: [], error: { code, message, httpStatus } };
  const spec = desired?.gitops;
  const mayExempt = spec?.selfHeal === 'enforce' && !spec.holdRepairs;
  const tools = drivers.filter(({ tool }) => tool === spec?.tool).map(({ namespace }) => namespace);
  const finding = await webhooks.blocking([failed], [object], tools, mayExempt);
  if (finding) logger.error('installer.blocked', { code: finding.code, reason: finding.message });
}

import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { systemClock } from '@fairlead/clock';
import { Cluster, ClusterGitOps, type Presence } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import type { z } from 'zod';
import { StackError } from '../errors.js';
import type { StackLog } from '../events.js';
import type { Stack } from '../stack.js';

const LOOK_MS = 2_000;
const REQUEST_MS = 10_000;

/**
 * How a cluster is, in a few words, once its agent is connected, and it is healthy and follows something, or `timeoutMs` is over.
 * Throws only for the signal.
 */
export async function awaitFollowing(
  api: Stack['api'],
  cluster: string,
  { timeoutMs, log, signal }: { readonly timeoutMs: number; readonly log: StackLog; readonly signal: AbortSignal },
): Promise<string> {
  const deadlineMs = systemClock.monotonicMs() + timeoutMs;
  let before = '';
  for (;;) {
    const { words, healthy } = await look(api, cluster, signal);
    if (healthy || systemClock.monotonicMs() >= deadlineMs) return words;
    if (words !== before) log({ kind: 'progress', text: `GitOps: waiting until ${cluster} follows: ${words}` });
    before = words;
    await systemClock.sleep(LOOK_MS, signal);
  }
}

/** Tells each change of it until the signal. Never rejects. */
export async function tellFollowing(
  api: Stack['api'],
  cluster: string,
  { before, log, signal }: { readonly before: string; readonly log: StackLog; readonly signal: AbortSignal },
): Promise<void> {
  let last = before;
  try {
    for (;;) {
      await systemClock.sleep(LOOK_MS, signal);
      const { words } = await look(api, cluster, signal);
      if (words !== last) log({ kind: 'progress', text: `${cluster}: ${words}` });
      last = words;
    }
  } catch (error) {
    if (!signal.aborted) log({ kind: 'progress', text: `${cluster} is not watched any more: ${messageOf(error)}` });
  }
}

interface Seen {
  readonly words: string;
  readonly healthy: boolean;
}

/** What is reported was true when it was said; without its agent nobody knows whether it still is. */
const WITHOUT_AGENT: Readonly<Record<Presence['state'], string>> = {
  never: 'its agent has not connected yet',
  online: '',
  draining: 'its agent moves to another gateway',
  offline: 'its agent is not connected',
};

async function look(api: Stack['api'], cluster: string, signal: AbortSignal): Promise<Seen> {
  try {
    const { presence } = await ask(api, `/v1/clusters/${cluster}`, Cluster, signal);
    const { health, report } = await ask(api, `/v1/clusters/${cluster}/gitops`, ClusterGitOps, signal);
    const followed = report?.sync?.revision;
    const follows = followed ? `follows ${shortened(followed)}` : '';
    const parts = [WITHOUT_AGENT[presence.state], health, follows, report?.problem?.message];
    const healthy = presence.state === 'online' && health === 'healthy' && Boolean(followed);
    return { words: parts.filter(Boolean).join(', '), healthy };
  } catch (error) {
    signal.throwIfAborted();
    return { words: `its status cannot be asked for: ${messageOf(error)}`, healthy: false };
  }
}

/** `main@sha1:0123456789ab`. */
const shortened = (revision: string): string => revision.replace(/([0-9a-f]{12})[0-9a-f]{28,}$/, '$1');

async function ask<T>(api: Stack['api'], path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
  const token = readFileSync(api.adminTokenFile, 'utf8').trim();
  const answer = await new Promise<{ status: number; body: string }>((resolve, reject) => {
    const asking = request(`${api.url}${path}`, {
      ca: readFileSync(api.caFile, 'utf8'),
      agent: false,
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
    });
    asking.once('error', reject);
    asking.once('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    asking.end();
  });
  if (answer.status !== 200) throw new StackError(`the API answers ${answer.status}`);
  return schema.parse(JSON.parse(answer.body));
}

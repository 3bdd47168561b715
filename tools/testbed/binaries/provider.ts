import type { Log } from '../log.js';
import type { ProviderName, Settings } from '../settings.js';
import type { Component } from './catalog.js';

/** A program that can be run. */
export interface Binary {
  readonly path: string;
  readonly version: string;
  readonly provider: 'env' | 'path' | 'download' | 'go';
  /** Why this one, for people. */
  readonly why: string;
}

export interface Context {
  readonly settings: Settings;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
}

/** What a provider can do, found out without using the network or building. */
export type Probe =
  | { readonly state: 'ready'; readonly binary: Binary }
  /** Not here yet; `obtain` may get it. */
  | { readonly state: 'possible'; readonly how: string }
  | { readonly state: 'no'; readonly why: string };

export interface BinaryProvider {
  readonly name: Exclude<ProviderName, 'docker'>;
  /** What to install or set where this provider does not work; undefined if nothing would help. */
  advice(component: Component): string | undefined;
  /** Throws TestbedError when something was asked for explicitly and does not work. */
  probe(component: Component, context: Context): Promise<Probe>;
  /** Only after `possible`. Throws with the reason when it does not work out. */
  obtain(component: Component, context: Context): Promise<Binary>;
}

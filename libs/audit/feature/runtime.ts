import type { ServiceRuntime } from '@fairlead/events';
import type { RpcClient } from '@fairlead/messaging';
import type { AppendToLog } from '../store/entries.js';

/** What every use case of the service works with. */
export interface Runtime extends ServiceRuntime {
  /** Of `keys`. */
  readonly rpc: RpcClient;
  readonly appendToLog: AppendToLog;
  readonly counts: Counts;
}

/** Told of what becomes of what comes. */
export interface Counts {
  entries(kind: string, count: number): void;
  /** A message that came before, or records of it. */
  repeated(stream: 'audit' | 'events', count: number): void;
  unreadable(stream: 'audit' | 'events'): void;
  failed(part: Part): void;
}

export type Part = 'records' | 'events' | 'gaps' | 'intents' | 'partitions' | 'subscribers';

export const countNothing: Counts = {
  entries: () => undefined,
  repeated: () => undefined,
  unreadable: () => undefined,
  failed: () => undefined,
};

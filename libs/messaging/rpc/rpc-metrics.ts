import type { ErrorCode } from '@fairlead/errors';
import { Counter, Histogram, type Registry } from '@fairlead/observability';

/** How often each method was asked, how it ended, and how long it took. */
export interface RpcMetrics {
  answered(subject: string, code: ErrorCode | 'OK', startedMs: number): void;
}

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10];

export function rpcMetrics(registry: Registry | undefined): RpcMetrics {
  if (!registry) return { answered: () => undefined };
  const registers = [registry];
  const total = new Counter({
    name: 'fairlead_rpc_requests_total',
    help: 'RPC requests answered, by method and error code',
    labelNames: ['method', 'code'],
    registers,
  });
  const duration = new Histogram({
    name: 'fairlead_rpc_duration_seconds',
    help: 'Time to answer an RPC request',
    labelNames: ['method'],
    buckets: SECONDS,
    registers,
  });
  return {
    answered(subject, code, startedMs) {
      // The fifth token; subscriptions let nothing in but our own methods, so there are few of them.
      const method = subject.split('.', 5)[4] ?? '';
      total.inc({ method, code });
      duration.observe({ method }, (performance.now() - startedMs) / 1_000);
    },
  };
}

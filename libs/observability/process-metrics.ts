import { performance } from 'node:perf_hooks';
import { Counter, type Registry } from 'prom-client';
import { gaugeAtScrape } from './gauge-at-scrape.js';

/** What a process takes of its machine, read at each scrape. prom-client's own set watches the event loop and the collector all the time. */
export function meterProcess(registry: Registry): void {
  counterOf(registry, 'process_cpu_seconds_total', 'CPU time of this process, user and system.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  });
  counterOf(
    registry,
    'fairlead_eventloop_active_seconds_total',
    'Time in which the event loop was not idle; a rate near 1: this process can do no more.',
    () => performance.eventLoopUtilization().active / 1_000,
  );
  const about = { name: 'process_resident_memory_bytes', help: 'Memory of this process that is in use.' };
  gaugeAtScrape(registry, about, (gauge) => gauge.set(process.memoryUsage.rss()));
}

function counterOf(registry: Registry, name: string, help: string, read: () => number): void {
  const counter = new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      counter.reset();
      counter.inc(read());
    },
  });
}

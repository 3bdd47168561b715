// A process that floods one port over many connections, held to a share of one core by its own duty cycle. It is told what to do in its first
// argument, says how it went in one line of JSON, and ends by itself.
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { Batch } from './batch.js';
import type { FloodOrder, FloodReport } from './generator.js';
import { kindsOf, type FloodKind } from './kinds.js';

/** What waits in this process for the kernel, of one connection. */
const AHEAD_BYTES = 256 * 1024;
const DRIBBLED_AT_ONCE = 64;
/** As long as it works without looking at the clock of its CPU. */
const SLICE_MS = 5;
/** A port that refuses at once is asked again no sooner. */
const RETRY_MS = 20;

class Attacker {
  readonly #order: FloodOrder;
  readonly #kind: FloodKind;
  readonly #report: FloodReport;
  #socket: TLSSocket | null = null;
  #isOpen = false;
  #batch: Batch | null = null;
  #retryAtMs = 0;

  constructor(order: FloodOrder, kind: FloodKind, report: FloodReport) {
    this.#order = order;
    this.#kind = kind;
    this.#report = report;
  }

  /** Does one thing, if there is one to do. */
  act(): boolean {
    if (!this.#socket) return this.#dial();
    if (!this.#isOpen || !this.#batch || this.#socket.writableLength > AHEAD_BYTES) return false;
    this.#flood(this.#socket, this.#batch);
    return true;
  }

  #dial(): boolean {
    if (performance.now() < this.#retryAtMs) return false;
    const { host, port } = this.#order;
    const socket = connect({
      host,
      port,
      ALPNProtocols: [this.#kind.protocol],
      // An attacker does not mind who answers.
      rejectUnauthorized: false,
    });
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.once('secureConnect', () => {
      this.#report.opened += 1;
      this.#isOpen = true;
      this.#batch = new Batch(this.#kind);
      socket.setNoDelay(true);
      socket.write(this.#kind.first);
    });
    socket.once('close', () => {
      if (this.#isOpen) this.#report.closed += 1;
      else this.#report.refused += 1;
      this.#retryAtMs = performance.now() + RETRY_MS;
      this.#isOpen = false;
      this.#socket = null;
    });
    if (!this.#kind.readsNothing) socket.resume();
    return true;
  }

  #flood(socket: TLSSocket, batch: Batch): void {
    const { isDribbled } = this.#kind;
    const bytes = isDribbled ? batch.next().subarray(0, DRIBBLED_AT_ONCE) : batch.next();
    this.#report.steps += isDribbled ? bytes.length : batch.steps;
    this.#report.bytes += bytes.length;
    if (!isDribbled) socket.write(bytes);
    else for (const byte of bytes) socket.write(Buffer.from([byte]));
  }
}

/** CPU seconds of this process so far. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

async function run(order: FloodOrder): Promise<FloodReport> {
  const kind = kindsOf(order.of).find(({ name }) => name === order.kind);
  if (!kind) throw new Error(`there is no kind of flood ${order.kind} at ${order.of}`);
  const report: FloodReport = { opened: 0, closed: 0, refused: 0, steps: 0, bytes: 0, cpuSeconds: 0 };
  const attackers = Array.from({ length: order.connections }, () => new Attacker(order, kind, report));
  const startedMs = performance.now();
  const elapsed = (): number => (performance.now() - startedMs) / 1_000;
  const before = cpuSeconds();
  const isOver = () =>
    elapsed() >= order.mostSeconds ||
    (elapsed() >= order.seconds && report.closed + report.refused >= order.untilClosed);
  while (!isOver()) {
    const sliceEndMs = performance.now() + SLICE_MS;
    let didAny = true;
    while (didAny && performance.now() < sliceEndMs && cpuSeconds() - before < order.share * elapsed()) {
      didAny = false;
      for (const attacker of attackers) didAny = attacker.act() || didAny;
      await new Promise((resolve) => void setImmediate(resolve));
    }
    await delay(1);
  }
  report.cpuSeconds = cpuSeconds() - before;
  return report;
}

const report = await run(JSON.parse(process.argv[2] ?? '{}') as FloodOrder);
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));

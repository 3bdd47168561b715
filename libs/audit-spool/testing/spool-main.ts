// A process that writes to a spool until it is killed: says `<seq> <id>` of each record that it was told is durable.
import { silentLogger } from '@fairlead/observability';
import { AuditSpool } from '../audit-spool.js';
import { numbered } from './records.js';

const [dir = '', firstId = '1', maxBytes = String(64 * 1024 ** 2)] = process.argv.slice(2);
const spool = await AuditSpool.open({ dir, maxBytes: Number(maxBytes), logger: silentLogger });
process.stdout.write('open\n');
let id = Number(firstId);
const writing = Array.from({ length: 20 }, async () => {
  for (;;) {
    const own = id;
    id += 1;
    spool.append(numbered(1_000_000_000 + own, own % 300));
    const seq = await spool.appendDurably(numbered(own, own % 300));
    process.stdout.write(`${seq} ${own}\n`);
  }
});
await Promise.all(writing);

import { eventually } from '@fairlead/testing';
import { z } from 'zod';
import type { Findings } from '../../chaos/findings.js';
import type { Done } from './load.js';
import type { AuditWorld } from './world.js';

/** What was handed out to an audit service that died comes again after 30 s, and after 15 s of silence a beginning has no end. */
const SETTLED_WITHIN = '5m';
/** For each: of a million entries, on a busy machine, two minutes are not enough. */
const COMPARE_TIMEOUT_MS = 1_800_000;

const Named = z.object({ count: z.int(), ids: z.array(z.string()) });
const Reconciled = z.object({
  requests: z.int(),
  noAnswer: z.int(),
  unnamed: z.int(),
  once: z.int(),
  unknown: z.int(),
  unsettled: z.int(),
  notKept: z.int(),
  lost: z.int(),
  missing: Named,
  twice: Named,
  otherStatus: Named,
  notInFile: Named,
});
export type Reconciled = z.output<typeof Reconciled>;

/** Compares what the load says with the log, by the command, and the log with its own tree. */
export async function judge(world: AuditWorld, done: Done, findings: Findings): Promise<Reconciled> {
  const { noAnswer, refused, requests, seconds, writes } = done;
  findings.figure('requests', `${requests}, ${writes} of them writes, ${(requests / seconds).toFixed(0)} a second`);
  findings.figure('without an answer', noAnswer);
  for (const [code, count] of Object.entries(refused)) findings.figure(`refused by a gateway, ${code}`, count);
  await world.whole();
  const { code, stdout, stderr } = await world.stack.cli(
    ['audit', 'reconcile', world.toldFile, '--wait', SETTLED_WITHIN, '-o', 'json'],
    { timeoutMs: COMPARE_TIMEOUT_MS },
  );
  findings.must(code === 0, `fairlead audit reconcile: ${stderr}`);
  const found = Reconciled.parse(JSON.parse(stdout));
  findings.figure('in the log once', found.once);
  findings.figure('of unknown end', found.unknown);
  findings.figure('reads and refusals that were not kept', found.notKept);
  findings.figure('records that gateways say they lost', found.lost);
  findings.figure('in the log, and without an answer', found.notInFile.count);
  findings.must(found.requests === requests, `the command read ${found.requests} of ${requests} requests`);
  findings.must(
    found.unsettled === 0,
    `${found.unsettled} began, and the log does not say that nobody knows their end`,
  );
  const unasked = found.notInFile.count - found.noAnswer;
  findings.must(unasked <= 0, `${unasked} requests are in the log that nobody made: ${found.notInFile.ids.join(', ')}`);
  await verify(world, findings);
  return found;
}

async function verify({ stack }: AuditWorld, findings: Findings): Promise<void> {
  const verified = await eventually(
    async () => {
      const { code, stdout, stderr } = await stack.cli(['audit', 'verify', '-o', 'json'], {
        timeoutMs: COMPARE_TIMEOUT_MS,
      });
      if (code !== 0) throw new Error(stderr);
      return z.object({ size: z.int(), verified: z.int() }).parse(JSON.parse(stdout));
    },
    { timeoutMs: COMPARE_TIMEOUT_MS },
  );
  findings.figure('entries that were verified', verified.verified);
  findings.must(verified.verified === verified.size, `${verified.verified} of ${verified.size} entries are verified`);
}

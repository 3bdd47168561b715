import type { Command } from 'commander';
import { findKept, keepCheckpoint, keptPath } from '../audit/kept-checkpoints.js';
import { policyOf, type QuorumOptions } from '../audit/quorum.js';
import { verifyWholeLog, type VerifiedLog } from '../audit/verify-whole-log.js';
import type { Io } from '../io.js';
import { printHint, printResult } from '../output/print.js';
import { collected, durationSeconds, outputOption, wholeNumber, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const HELP = `
Reads the whole log and computes its tree anew: that the checkpoint is signed, that the log goes on from the one that you verified the last
time, that no entry was changed, taken away, added or moved, and that each body is the one that was logged. The checkpoint is kept in your home
for the next time. Give the key by --key as somebody told you who had it from another place than this server; else it is believed at the first
time, and asked for ever after.

With --quorum or --policy it is an error unless so many of these witnesses cosigned all that the log shows. Get their keys from whoever runs
them. With --checkpoints it goes on from each checkpoint in the file, too: \`keys\` writes them, where the database cannot change them.

Examples:
  fairlead audit verify
  fairlead audit verify --key 'fairlead.example.com/audit/default+1a2b3c4d+AQ...'
  fairlead audit verify --quorum 2 --witness 'w1.example+0b1c2d3e+BA...' --witness 'w2.example+...' --witness 'w3.example+...'
  fairlead audit verify --policy witnesses.policy             # C2SP tlog-policy
  fairlead audit verify --checkpoints default/2026-03-01.jsonl --checkpoints default/last.json`;

interface Options extends Printed, QuorumOptions {
  readonly key?: string;
  readonly anew?: true;
  readonly wait: number;
  readonly checkpoints?: readonly string[];
}

/** audit verify */
export function addAuditVerify(audit: Command, io: Io): void {
  audit
    .command('verify')
    .summary('verify that nothing in the log was changed or taken away')
    .description('Verify the whole audit log, without believing the server.')
    .option('--key <verifier-key>', 'the key that signs its checkpoints')
    .option('--quorum <number>', 'how many of the witnesses have to have cosigned it', wholeNumber)
    .option('--witness <verifier-key>', 'a witness that counts; may be repeated', collected)
    .option('--policy <file>', 'which witnesses are enough (C2SP tlog-policy)')
    .option('--wait <duration>', 'for how long witnesses are waited for', durationSeconds, 60)
    .option('--checkpoints <file>', 'checkpoints that were kept elsewhere; may be repeated', collected)
    .option('--anew', 'compare with nothing that was verified before')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', HELP)
    .action((options: Options) => verify(io, options));
}

async function verify(io: Io, { output, key, anew, wait, checkpoints, ...quorum }: Options): Promise<void> {
  const policy = await policyOf(quorum);
  const found = await withApi(io, async (api, login) => {
    const path = keptPath(io.config.home, `${login.server} ${io.config.tenant ?? ''}`);
    const verified = await verifyWholeLog(api, {
      givenKey: key,
      kept: anew ? undefined : await findKept(path),
      policy,
      waitMs: wait * 1_000,
      files: checkpoints ?? [],
      onProgress: (text) => printHint(io, text),
    });
    await keepCheckpoint(io.config.home, path, verified.keep);
    return verified;
  });
  printResult(io, output, asJson(found), ...sentences(found));
}

function asJson({ checkpoint, verified, erased, before, gone, earlier, cosigned, held }: VerifiedLog): object {
  const { origin, size } = checkpoint;
  const goesOnFrom = before?.size ?? null;
  return { origin, size, verified, erased, goesOnFrom, gone, earlier, cosignedBy: cosigned?.by ?? null, heldTo: held };
}

function sentences({ checkpoint, verified, erased, before, gone, earlier, cosigned, held }: VerifiedLog): string[] {
  const { origin, size } = checkpoint;
  const lost = gone > 0 ? `, of which up to ${gone} are gone` : '';
  const since = before ? `it goes on from the ${before.size} of the last time${lost}` : 'nothing was verified before';
  const ofLost = held.ofLost > 0 ? `, ${held.ofLost} of them from before it began anew, of entries that are gone` : '';
  return [
    `the log ${origin} is whole: ${size} entries, ${since}`,
    `bodies: ${verified} are what was logged, ${erased} were taken by the retention, as the log says`,
    ...earlier.map(
      ({ origin: old, signed, kept }) =>
        `it began anew: ${signed} entries of ${old} were signed, of which it has the first ${kept}, and up to ${signed - kept} are gone`,
    ),
    ...(cosigned ? [`cosigned by ${cosigned.by.join(', ')}`] : []),
    ...(held.checkpoints > 0 ? [`it goes on from all ${held.checkpoints} checkpoints in the files${ofLost}`] : []),
  ];
}

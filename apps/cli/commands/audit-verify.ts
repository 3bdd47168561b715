import { readFile } from 'node:fs/promises';
import { parseVerifierKey } from '@fairlead/transparency-log';
import type { Command } from 'commander';
import type { ExportVerdict, Numbers } from '../audit/export-file.js';
import { findKept, keepCheckpoint, keptPath } from '../audit/kept-checkpoints.js';
import { policyOf, type QuorumOptions } from '../audit/quorum.js';
import { verifyWholeLog, type VerifiedLog } from '../audit/verify-whole-log.js';
import { failure, usage } from '../failure.js';
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
them. With --export each line of a file that \`audit export\` or \`audit save --bodies\` wrote is held to the log: its body is the one that was logged, its last line says what is in it, and
which numbers are not in the file. With --whole it is an error if one is not that the log has: an export without a filter has them all. With --checkpoints it goes on from each checkpoint in the file, too: \`keys\` writes them, where the database cannot change them.

Examples:
  fairlead audit verify
  fairlead audit verify --key 'fairlead.example.com/audit/default+1a2b3c4d+AQ...'
  fairlead audit verify --key log.key                         # as \`audit save\` writes it
  fairlead audit verify --export audit.ndjson --whole
  fairlead audit verify --quorum 2 --witness 'w1.example+0b1c2d3e+BA...' --witness 'w2.example+...' --witness 'w3.example+...'
  fairlead audit verify --policy witnesses.policy             # C2SP tlog-policy
  fairlead audit verify --checkpoints default/2026-03-01.jsonl --checkpoints default/last.json`;

interface Options extends Printed, QuorumOptions {
  readonly key?: string;
  readonly anew?: true;
  readonly wait: number;
  readonly checkpoints?: readonly string[];
  readonly export?: string;
  readonly whole?: true;
}

/** audit verify */
export function addAuditVerify(audit: Command, io: Io): void {
  audit
    .command('verify')
    .summary('verify that nothing in the log was changed or taken away')
    .description('Verify the whole audit log, without believing the server.')
    .option('--key <verifier-key>', 'the key that signs its checkpoints, or a file with it')
    .option('--quorum <number>', 'how many of the witnesses have to have cosigned it', wholeNumber)
    .option('--witness <verifier-key>', 'a witness that counts; may be repeated', collected)
    .option('--policy <file>', 'which witnesses are enough (C2SP tlog-policy)')
    .option('--wait <duration>', 'for how long witnesses are waited for', durationSeconds, 60)
    .option('--checkpoints <file>', 'checkpoints that were kept elsewhere; may be repeated', collected)
    .option('--export <file>', 'an export, as lines of JSON, to be held to it')
    .option('--whole', 'that export has to have every entry that the log still has, up to where it ends')
    .option('--anew', 'compare with nothing that was verified before')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', HELP)
    .action((options: Options) => verify(io, options));
}

async function verify(
  io: Io,
  { output, key, anew, wait, checkpoints, export: exported, whole, ...quorum }: Options,
): Promise<void> {
  if (whole && exported === undefined) throw usage('--whole is of an export', 'name the file with --export');
  const policy = await policyOf(quorum);
  const givenKey = key === undefined ? undefined : await keyIn(key);
  const found = await withApi(io, async (api, login) => {
    const path = keptPath(io.config.home, `${login.server} ${io.config.tenant ?? ''}`);
    const kept = anew ? undefined : await findKept(path);
    const verified = await verifyWholeLog(api, {
      givenKey,
      kept,
      exported,
      policy,
      waitMs: wait * 1_000,
      files: checkpoints ?? [],
      onProgress: (text) => printHint(io, text),
    });
    await keepCheckpoint(io.config.home, path, verified.keep);
    return { ...verified, keyFrom: givenKey !== undefined ? 'given' : kept ? 'last time' : 'server' } as const;
  });
  const wrong = found.exported ? wrongOf(found.exported, found, whole === true) : null;
  if (wrong !== null) {
    throw failure(
      'CONFLICT',
      `${exported} is not what was exported: ${wrong}`,
      'have it made anew: fairlead audit export',
    );
  }
  printResult(io, output, asJson(found), ...sentences(found));
}

/** Whatever is in it is what was logged. What is not in it may have been left out, or have been cut off. */
function wrongOf(file: ExportVerdict, { erased, checkpoint }: VerifiedLog, whole: boolean): string | null {
  if (file.wrong !== null || !whole) return file.wrong;
  const [from, to] = [erased + 1, file.through ?? checkpoint.size];
  if (from > to) return null;
  const missing = [
    ...(file.first === null || file.first > from ? [{ from, to: (file.first ?? to + 1) - 1 }] : []),
    ...file.missingNumbers,
    ...(file.last !== null && file.last < to ? [{ from: file.last + 1, to }] : []),
  ];
  return missing.length === 0 ? null : `it has not ${rangesText(missing)}, as the log has`;
}

function rangesText(numbers: readonly Numbers[]): string {
  return numbers.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
}

/** The key itself, or that in a file, as other tools take it. */
async function keyIn(given: string): Promise<string> {
  if (isKey(given)) return given;
  const text = await readFile(given, 'utf8').catch(() => '');
  if (isKey(text.trim())) return text.trim();
  throw usage(
    `${given} is neither a key, whose hash fits to it, nor a file with one`,
    'write it whole, as NAME+HASH+KEY, or name the file that `fairlead audit save` wrote beside the log',
  );
}

function isKey(text: string): boolean {
  try {
    return parseVerifierKey(text).name !== '';
  } catch {
    return false;
  }
}

interface Found extends VerifiedLog {
  /** Whence the key is. */
  readonly keyFrom: 'given' | 'last time' | 'server';
}

function asJson({ keyFrom, exported, ...found }: Found): object {
  const { checkpoint, keep, verified, erased, before, gone, earlier, cosigned, held } = found;
  const { origin, size } = checkpoint;
  const goesOnFrom = before?.size ?? null;
  const cosignedBy = cosigned?.by ?? null;
  return {
    origin,
    size,
    verified,
    erased,
    goesOnFrom,
    gone,
    earlier,
    cosignedBy,
    heldTo: held,
    key: keep.verifierKey,
    keyFrom,
    exported,
  };
}

function keySentence({ keyFrom, keep }: Found): string {
  const key = `it is signed by the key ${keep.verifierKey}`;
  if (keyFrom === 'given') return `${key}, which you gave`;
  if (keyFrom === 'last time') return `${key}, as the last time`;
  return `${key}, which the server names: compare it with what you are told from elsewhere`;
}

function exportSentences(file: ExportVerdict, size: number): string[] {
  const { proven, unproven, newer, first, last, missing, missingNumbers, through } = file;
  const shown = rangesText(missingNumbers);
  const told = missingNumbers.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  return [
    `the export: ${proven} entries are what was logged, from number ${first ?? 0} to ${last ?? 0}`,
    missing === 0 && proven > 0
      ? 'no number between these is missing in it'
      : `${missing} numbers between these are not in it, as in one with a filter: ${shown}${told < missing ? ', …' : ''}`,
    ...(through === null
      ? []
      : [`it says that it was made of the log up to number ${through}, of the ${size} there are now`]),
    ...(unproven > 0 ? [`${unproven} entries of it have no body in the log any more: of them nothing is proven`] : []),
    ...(newer > 0 ? [`${newer} entries of it are newer than the checkpoint: verify it again in some seconds`] : []),
  ];
}

function sentences(found: Found): string[] {
  const { checkpoint, verified, erased, before, gone, earlier, cosigned, held, exported } = found;
  const { origin, size } = checkpoint;
  const lost = gone > 0 ? `, of which up to ${gone} are gone` : '';
  const since = before ? `it goes on from the ${before.size} of the last time${lost}` : 'nothing was verified before';
  const ofLost = held.ofLost > 0 ? `, ${held.ofLost} of them from before it began anew, of entries that are gone` : '';
  return [
    `the log ${origin} is whole: ${size} entries, ${since}`,
    keySentence(found),
    `bodies: ${verified} are what was logged, ${erased} were taken by the retention, as the log says`,
    ...earlier.map(
      ({ origin: old, signed, kept }) =>
        `it began anew: ${signed} entries of ${old} were signed, of which it has the first ${kept}, and up to ${signed - kept} are gone`,
    ),
    ...(cosigned ? [`cosigned by ${cosigned.by.join(', ')}`] : []),
    ...(held.checkpoints > 0 ? [`it goes on from all ${held.checkpoints} checkpoints in the files${ofLost}`] : []),
    ...(exported ? exportSentences(exported, size) : []),
  ];
}

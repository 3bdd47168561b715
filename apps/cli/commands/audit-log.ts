import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  TILE_WIDTH,
  describeProblem,
  entryBundlePath,
  hashesAtLevel,
  levelsOf,
  proveInclusion,
  tileAt,
  tilePath,
  verifyLog,
  type TileReader,
} from '@fairlead/transparency-log';
import type { Command } from 'commander';
import { findKept, keepCheckpoint, keptPath } from '../audit/kept-checkpoints.js';
import { AuditLogHead } from '../audit/log-answers.js';
import { TilesOverApi } from '../audit/tiles-over-api.js';
import { verifiedHead } from '../audit/verified-head.js';
import { verifyBodies } from '../audit/verify-bodies.js';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printHint, printLines, printResult } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import { outputOption, wholeNumber, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const HEAD = '/v1/audit/log';

const VERIFY_HELP = `
Reads the whole log and computes its tree anew: that the checkpoint is signed, that the log goes on from the one that you verified the last
time, that no entry was changed, taken away, added or moved, and that each body is the one that was logged. The checkpoint is kept in your home
for the next time. Give the key by --key as somebody told you who had it from another place than this server; else it is believed at the first
time, and asked for ever after.

Examples:
  fairlead audit verify
  fairlead audit verify --key 'fairlead.example.com/audit/default+1a2b3c4d+AQ...'`;

const SAVE_HELP = `
Writes checkpoint and tiles as files in the layout of C2SP tlog-tiles, and the key beside them, for any tool that reads it, on any machine:

  fairlead audit save log
  fsck --storage_url="file://$PWD/log" --public_key=log.key --origin="$(head -1 log/checkpoint)"`;

interface VerifyOptions extends Printed {
  readonly key?: string;
  readonly anew?: true;
}

/** audit verify, prove, save. */
export function addAuditLogCommands(audit: Command, io: Io): void {
  audit
    .command('verify')
    .summary('verify that nothing in the log was changed or taken away')
    .description('Verify the whole audit log, without believing the server.')
    .option('--key <verifier-key>', 'the key that signs its checkpoints')
    .option('--anew', 'compare with nothing that was verified before')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', VERIFY_HELP)
    .action((options: VerifyOptions) => verify(io, options));
  audit
    .command('prove <number>')
    .summary('prove that an entry is in the log')
    .description('Print a proof that an entry is in the log (C2SP tlog-proof), with the checkpoint that it holds for.')
    .action((number: string) => prove(io, wholeNumber(number)));
  audit
    .command('save <folder>')
    .summary('save the log for other tools')
    .description('Save checkpoint, tiles and key of the log as files.')
    .addHelpText('after', SAVE_HELP)
    .action((folder: string) => save(io, folder));
}

async function verify(io: Io, { output, key, anew }: VerifyOptions): Promise<void> {
  const { verified, erased, size, checkpoint, goesOnFrom } = await withApi(io, async (api, login) => {
    const path = keptPath(io.config.home, `${login.server} ${io.config.tenant ?? ''}`);
    const head = await api.ask(AuditLogHead, HEAD);
    const kept = anew ? undefined : await findKept(path);
    const { checkpoint, before, verifierKey } = verifiedHead(head, { kept, givenKey: key });
    const tiles = new TilesOverApi(api);
    const verdict = await verifyLog(tiles, before ? [before, checkpoint] : [checkpoint]);
    // The first record of the tree is entry 1.
    if (!verdict.ok) throw broken(`entry ${verdict.index + 1}: ${describeProblem(verdict)}`);
    const bodies = await verifyBodies(api, tiles, checkpoint.size, (number) =>
      printHint(io, `${number} of ${checkpoint.size}`),
    );
    if (bodies.bad) throw broken(`entry ${bodies.bad.number} ${bodies.bad.why}`);
    const { origin, checkpoint: note } = head;
    await keepCheckpoint(io.config.home, path, { origin, verifierKey, checkpoint: note });
    return { ...bodies, size: checkpoint.size, checkpoint, goesOnFrom: before?.size ?? null };
  });
  const { origin } = checkpoint;
  const since =
    goesOnFrom === null ? 'nothing was verified before' : `it goes on from the ${goesOnFrom} of the last time`;
  printResult(
    io,
    output,
    { origin, size, verified, erased, goesOnFrom },
    `the log ${origin} is whole: ${size} entries, ${since}`,
    `bodies: ${verified} are what was logged, ${erased} were erased or are older than what is kept`,
  );
}

function broken(what: string): Error {
  return failure(
    'CONFLICT',
    `the audit log was tampered with, or damaged: ${what}`,
    'keep the database as it is, and see docs/runbooks/audit-log-broken.md',
  );
}

/** https://c2sp.org/tlog-proof */
async function prove(io: Io, number: number): Promise<void> {
  await withApi(io, async (api) => {
    const { size, checkpoint } = await api.ask(AuditLogHead, HEAD);
    if (number < 1 || number > size) {
      throw failure(
        'NOT_FOUND',
        `the newest checkpoint is of ${size} entries, and ${number} is none of them`,
        'wait some seconds, if it is a new one',
      );
    }
    const proof = await proveInclusion(new TilesOverApi(api), number - 1, size);
    const hashes = proof.map((hash) => Buffer.from(hash).toString('base64'));
    printLines(io, 'c2sp.org/tlog-proof@v1', `index ${number - 1}`, ...hashes, '', checkpoint.trimEnd());
  });
}

async function save(io: Io, folder: string): Promise<void> {
  await withApi(io, async (api) => {
    const { size, verifierKey, checkpoint } = await api.ask(AuditLogHead, HEAD);
    await saveTiles(api, folder, size);
    await writeFile(join(folder, 'checkpoint'), checkpoint);
    await writeFile(`${folder}.key`, `${verifierKey}\n`);
    printLines(io, `${size} entries saved in ${folder}, the key in ${folder}.key`);
  });
}

async function saveTiles(api: ApiClient, folder: string, size: number): Promise<void> {
  const tiles: TileReader = new TilesOverApi(api);
  for (let level = 0; level < levelsOf(size); level += 1) {
    const hashes = hashesAtLevel(size, level);
    for (let first = 0; first < hashes; first += TILE_WIDTH) {
      const tile = tileAt(level, first, size);
      await saveFile(folder, tilePath(tile), await tiles.readTile(tile));
      if (level === 0) await saveFile(folder, entryBundlePath(tile), await tiles.readEntryBundle(tile));
    }
  }
}

async function saveFile(folder: string, path: string, bytes: Uint8Array | undefined): Promise<void> {
  if (!bytes)
    throw failure(
      'NOT_FOUND',
      `the server has no ${path}, though its checkpoint is of it`,
      'run: fairlead audit verify',
    );
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), bytes);
}

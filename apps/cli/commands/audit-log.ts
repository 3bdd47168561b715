import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  TILE_WIDTH,
  entryBundlePath,
  hashesAtLevel,
  levelsOf,
  proveInclusion,
  tileAt,
  tilePath,
  type TileReader,
} from '@fairlead/transparency-log';
import type { Command } from 'commander';
import { TilesOverApi } from '../audit/tiles-over-api.js';
import { HEAD } from '../audit/verify-whole-log.js';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printLines } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import { AuditLogHead } from '../session/audit-log-answers.js';
import { addAuditBeginAnew } from './audit-begin-anew.js';
import { addAuditVerify } from './audit-verify.js';
import { addAuditWitnesses } from './audit-witnesses.js';
import { entryNumber } from './option-values.js';
import { withApi } from './with-api.js';

const SAVE_HELP = `
Writes checkpoint and tiles as files in the layout of C2SP tlog-tiles, and the key beside them, for any tool that reads it, on any machine:

  fairlead audit save log
  fsck --storage_url="file://$PWD/log" --public_key=log.key --origin="$(head -1 log/checkpoint)"`;

/** audit verify, witnesses, begin-anew, prove, save. */
export function addAuditLogCommands(audit: Command, io: Io): void {
  addAuditVerify(audit, io);
  addAuditWitnesses(audit, io);
  addAuditBeginAnew(audit, io);
  audit
    .command('prove <number>')
    .summary('prove that an entry is in the log')
    .description('Print a proof that an entry is in the log (C2SP tlog-proof), with the checkpoint that it holds for.')
    .action((number: string) => prove(io, entryNumber(number)));
  audit
    .command('save <folder>')
    .summary('save the log for other tools')
    .description('Save checkpoint, tiles and key of the log as files.')
    .addHelpText('after', SAVE_HELP)
    .action((folder: string) => save(io, folder));
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

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
import { messageOf } from '@fairlead/errors';
import type { Command } from 'commander';
import { evidenceLines, evidenceOf } from '../audit/entry-evidence.js';
import { TilesOverApi } from '../audit/tiles-over-api.js';
import { HEAD } from '../audit/verify-whole-log.js';
import { failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { closed, lineWriter, newFile } from '../output/lines.js';
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
  fsck --ui=false --storage_url="file://$PWD/log" --public_key=log.key --origin="$(head -1 log/checkpoint)" 2>&1 | grep Successfully

fsck ends with 0 whatever it finds: a whole log is \`Successfully fsck'd log with size …\`. Tiles have commitments, not what entries say. With --bodies that comes beside them, in
log.bodies.ndjson: {"number":…,"nonce":…,"body":…}, of which SHA-256 over nonce and body is the commitment. docs/audit.md has a program that checks it.`;

const PROVE_HELP = `
The index of entry N is N-1: the first record of the tree is entry 1. With --out, files of their own are written into a new folder:

  proof      that a leaf is in the log (C2SP tlog-proof), with the checkpoint
  leaf       {"v":1,"commitment":…}: SHA-256 over nonce and body, base64
  nonce      32 bytes
  body       what the entry says, byte for byte
  log.key    the key that signs the checkpoint, as the server names it

  cat nonce body | openssl dgst -sha256 -binary | base64        # is the commitment in the leaf`;

/** audit verify, witnesses, begin-anew, prove, save. */
export function addAuditLogCommands(audit: Command, io: Io): void {
  addAuditVerify(audit, io);
  addAuditWitnesses(audit, io);
  addAuditBeginAnew(audit, io);
  audit
    .command('prove <number>')
    .summary('prove that an entry is in the log')
    .description('Print a proof that an entry is in the log (C2SP tlog-proof), with the checkpoint that it holds for.')
    .option('--out <folder>', 'write it there, with leaf, nonce and body; the folder must not be there yet')
    .addHelpText('after', PROVE_HELP)
    .action((number: string, { out }: { out?: string }) => prove(io, entryNumber(number), out));
  audit
    .command('save <folder>')
    .summary('save the log for other tools')
    .description('Save checkpoint, tiles and key of the log as files.')
    .option('--bodies', 'also what entries say, and their nonces, in <folder>.bodies.ndjson')
    .addHelpText('after', SAVE_HELP)
    .action((folder: string, { bodies }: { bodies?: true }) => save(io, folder, bodies === true));
}

/** https://c2sp.org/tlog-proof */
async function prove(io: Io, number: number, out: string | undefined): Promise<void> {
  await withApi(io, async (api) => {
    const { size, checkpoint, verifierKey } = await api.ask(AuditLogHead, HEAD);
    if (number < 1 || number > size) {
      throw failure(
        'NOT_FOUND',
        `the newest checkpoint is of ${size} entries, and ${number} is none of them`,
        'wait some seconds, if it is a new one',
      );
    }
    const tiles = new TilesOverApi(api);
    const proof = await proveInclusion(tiles, number - 1, size);
    const hashes = proof.map((hash) => Buffer.from(hash).toString('base64'));
    const lines = ['c2sp.org/tlog-proof@v1', `index ${number - 1}`, ...hashes, '', checkpoint.trimEnd()];
    if (out === undefined) return printLines(io, ...lines);
    const { leaf, nonce, body } = await evidenceOf(api, tiles, { number, size });
    const files = { proof: `${lines.join('\n')}\n`, leaf, nonce, body, 'log.key': `${verifierKey}\n` };
    await makeFolder(out);
    for (const [name, content] of Object.entries(files)) await writeFile(join(out, name), content, { mode: 0o600 });
    printLines(io, `proof, leaf, nonce and body of entry ${number} are in ${out}, with the key of the log`);
  });
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw usage(`${path} is there already`, 'name a folder that is not there yet');
    throw failure('INTERNAL', `cannot make ${path}: ${messageOf(error)}`, 'choose another folder', error);
  });
}

async function save(io: Io, folder: string, withBodies: boolean): Promise<void> {
  await withApi(io, async (api) => {
    const { size, verifierKey, checkpoint } = await api.ask(AuditLogHead, HEAD);
    await saveTiles(api, folder, size);
    await writeFile(join(folder, 'checkpoint'), checkpoint);
    await writeFile(`${folder}.key`, `${verifierKey}\n`);
    const bodies = withBodies ? await saveBodies(api, `${folder}.bodies.ndjson`, size) : '';
    printLines(io, `${size} entries saved in ${folder}, the key in ${folder}.key${bodies}`);
  });
}

async function saveBodies(api: ApiClient, path: string, size: number): Promise<string> {
  const file = await newFile(path);
  const write = lineWriter(file);
  let count = 0;
  try {
    for await (const line of evidenceLines(api, size)) {
      await write(line);
      count += 1;
    }
  } finally {
    await closed(file);
  }
  return `, and ${count} bodies in ${path}`;
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

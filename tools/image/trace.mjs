// Says where the lines of a stack trace from a bundle are in our sources. The maps lie beside each bundle, in the images too,
// but Node is not told of them: it would read them whole at each start and keep them, 100 ms and 35 MB.
//
//   kubectl logs … | node tools/image/trace.mjs apps/agent/dist/bundle
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const [bundle] = process.argv.slice(2);
if (!bundle) throw new Error('usage: node tools/image/trace.mjs <folder of the bundle> < trace');
const maps = new Map();
const log = await text(process.stdin);
process.stdout.write(log.replaceAll(/[^\s()"]*\/bundle\/([\w.-]+\.js):(\d+):(\d+)/g, place));

function place(written, file, line, column) {
  const { fileName, lineNumber, columnNumber } = mapOf(file)?.findOrigin(Number(line), Number(column)) ?? {};
  return fileName === undefined ? written : `${fileName.replace(/^(\.\.\/)+/, '')}:${lineNumber}:${columnNumber}`;
}

function mapOf(file) {
  const path = join(bundle, `${file}.map`);
  if (!maps.has(file))
    maps.set(file, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : undefined);
  return maps.get(file);
}

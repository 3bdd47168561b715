import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** More than any entry of the audit log with all that is around it. */
const MAX_LINE_CHARACTERS = 4 * 1024 * 1024;

/** What stands before each line feed, and a rest without one; only as much is read as is asked for. Fails for a line that is longer than any of ours. */
export async function* linesOf(body: Readable): AsyncGenerator<string, void, void> {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  for await (const bytes of body as AsyncIterable<Buffer>) {
    const lines = (begun + decoder.write(bytes)).split('\n');
    begun = lines.pop() ?? '';
    if (begun.length > MAX_LINE_CHARACTERS) throw new Error('a line of the answer is too long');
    yield* lines;
  }
  begun += decoder.end();
  if (begun !== '') yield begun;
}

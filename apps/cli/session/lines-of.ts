import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { FairleadError } from '@fairlead/errors';

/** What stands before each line feed, and a rest without one; only as much is read as is asked for. TOO_LARGE for a line of more characters than these. */
export async function* linesOf(body: Readable, mostCharacters: number): AsyncGenerator<string, void, void> {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  for await (const bytes of body as AsyncIterable<Buffer>) {
    const lines = (begun + decoder.write(bytes)).split('\n');
    begun = lines.pop() ?? '';
    if (begun.length > mostCharacters) throw new FairleadError('TOO_LARGE', 'a line is too long');
    yield* lines;
  }
  begun += decoder.end();
  if (begun !== '') yield begun;
}

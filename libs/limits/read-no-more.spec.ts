import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { readNoMore } from './read-no-more.js';

/** A connection whose peer sends one byte each time it is read, up to `most`. */
function dribbling(most: number, readableHighWaterMark?: number): { connection: Duplex; reads: () => number } {
  let reads = 0;
  const connection = new Duplex({
    ...(readableHighWaterMark !== undefined && { readableHighWaterMark }),
    read() {
      if (reads < most) setImmediate(() => this.push(Buffer.from([0])));
      reads += 1;
    },
    write: (_chunk, _encoding, done) => done(),
  });
  return { connection, reads: () => reads };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

describe('a connection that is to end', () => {
  it.each([
    ['as much as by default', undefined],
    ['more', 1 << 20],
    ['less', 1_024],
  ])('is not read any more, however little its peer sends at once, where it reads ahead %s', async (_what, ahead) => {
    const { connection, reads } = dribbling(1_000, ahead);
    connection.on('data', () => undefined);
    await turns(20);
    expect(reads()).toBeGreaterThan(10);
    readNoMore(connection);
    const before = reads();
    await turns(50);
    // The one that had been asked for.
    expect(reads() - before).toBeLessThanOrEqual(1);
  });

  it('may have ended already, or be closed', async () => {
    for (const finish of [
      (connection: Duplex) => connection.resume().push(null),
      (connection: Duplex) => connection.destroy(),
    ]) {
      const { connection } = dribbling(0);
      const errors: Error[] = [];
      connection.on('error', (error) => errors.push(error));
      finish(connection);
      await turns(5);
      readNoMore(connection);
      await turns(5);
      expect(errors).toEqual([]);
    }
  });
});

import { FairleadError } from '@fairlead/errors';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.js';
import { ROWS } from './rows.js';

describe('loadConfig', () => {
  it('measures every row five times unless told otherwise', () => {
    const config = loadConfig([]);
    expect(config).toMatchObject({ quick: false, runs: 5, jsonFile: undefined });
    expect(config.rows).toEqual(Object.keys(ROWS));
  });

  it('takes rows, runs and a file', () => {
    const args = ['--quick', '--row', 'ping_p50', '--row', 'download_1', '--runs', '3', '--json', 'out.json'];
    expect(loadConfig(args)).toEqual({
      help: false,
      quick: true,
      rows: ['ping_p50', 'download_1'],
      runs: 3,
      jsonFile: 'out.json',
    });
  });

  it.each([
    [['--row', 'upload_1'], /there is no row upload_1; there are download_1,/],
    [['--row', 'toString'], /there is no row/],
    [['--runs', '0'], /--runs takes/],
    [['--runs', 'many'], /--runs takes/],
    [['--runs', '1.5'], /--runs takes/],
    [['--fast'], /--fast[\s\S]*Usage:/],
    [['download_1'], /Usage:/],
  ])('refuses %j', (args, message) => {
    expect(() => loadConfig(args)).toThrow(FairleadError);
    expect(() => loadConfig(args)).toThrow(message);
  });
});

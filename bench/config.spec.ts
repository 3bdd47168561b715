import { FairleadError } from '@fairlead/errors';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.js';
import { AREAS } from './rows.js';

describe('loadConfig', () => {
  it('measures every row of every system five times unless told otherwise', () => {
    const config = loadConfig([]);
    expect(config).toMatchObject({ quick: false, runs: 5, jsonFile: undefined, markdownFile: undefined, fresh: false });
    expect(config.rows).toEqual(AREAS.tunnel.rows);
    expect(config.systems).toEqual(AREAS.tunnel.systems);
  });

  it('takes rows and systems, in the order of the table, runs and files', () => {
    const which = ['--row', 'ping_p50', '--row', 'download_1', '--system', 'fairlead', '--system', 'direct'];
    const files = ['--json', 'out.json', '--markdown', 'out.md'];
    expect(loadConfig(['--quick', '--fresh', ...which, '--runs', '3', ...files])).toEqual({
      help: false,
      quick: true,
      area: 'tunnel',
      rows: ['download_1', 'ping_p50'],
      systems: ['direct', 'fairlead'],
      runs: 3,
      jsonFile: 'out.json',
      markdownFile: 'out.md',
      fresh: true,
      inside: false,
    });
  });

  it('measures another area, and only its own rows and systems', () => {
    const { rows, systems } = loadConfig(['--area', 'api-door']);
    expect([rows, systems]).toEqual([AREAS['api-door'].rows, AREAS['api-door'].systems]);
    expect(() => loadConfig(['--area', 'api-door', '--row', 'ping_p50'])).toThrow('there is no row ping_p50');
    expect(() => loadConfig(['--system', 'kubectl-proxy'])).toThrow('there is no system kubectl-proxy');
  });

  it('measures the audit ten times, or fills a log instead', () => {
    expect(loadConfig(['--area', 'audit'])).toMatchObject({ runs: 10, millions: undefined });
    expect(loadConfig(['--area', 'audit', '--rows', '2.5']).millions).toBe(2.5);
  });

  it.each([
    [['--area', 'gitops'], /there is no area gitops; there are tunnel, api-door, audit/],
    [['--rows', '1'], /--rows takes millions/],
    [['--area', 'audit', '--rows', '1000'], /--rows takes millions/],
    [['--row', 'upload'], /there is no row upload; there are download_1,/],
    [['--row', 'toString'], /there is no row/],
    [['--system', 'chisel'], /there is no system chisel; there are direct,/],
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

import { describe, expect, it } from 'vitest';
import { leftovers } from './leftovers.js';

const WORKER = ['PipeWrap', 'PipeWrap', 'PipeWrap'];
const once = () => 1;

describe('leftovers', () => {
  it('is nothing where a worker has only its pipes', () => {
    expect(leftovers(WORKER, once)).toEqual([]);
  });

  it('names what still runs, once each', () => {
    expect(leftovers([...WORKER, 'Timeout', 'TCPServerWrap', 'TCPServerWrap'], once)).toEqual([
      'Timeout',
      'TCPServerWrap',
    ]);
  });

  it('tells the pipe of a child from those of the worker', () => {
    expect(leftovers([...WORKER, 'PipeWrap'], once)).toEqual(['PipeWrap']);
  });

  it('names errors that the next file would not hear of', () => {
    expect(leftovers(WORKER, (event) => (event === 'unhandledRejection' ? 2 : 1))).toEqual(['unhandledRejection']);
  });
});

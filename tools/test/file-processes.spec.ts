import { expect, it } from 'vitest';
import { wantsOwnProcess } from './file-processes.js';

it('gives a file a process of its own if its head says so, with a reason', () => {
  expect(wantsOwnProcess('// Counts.\n// @process own: it patches a prototype of ws\nimport x;')).toBe(true);
  expect(wantsOwnProcess('// @process own: no\n')).toBe(false);
  expect(wantsOwnProcess("const text = '// @process own: a string, and no line of its own';")).toBe(false);
  expect(wantsOwnProcess('// Nothing of it.\n')).toBe(false);
});

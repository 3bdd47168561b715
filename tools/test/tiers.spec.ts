import { expect, it } from 'vitest';
import { testFiles, tierOf, tierProblems } from './tiers.js';

const REASON = 'every damage; x/y.int.spec.ts shows the story';

it('is ordinary when nothing is said', () => {
  expect(tierOf("import { it } from 'vitest';\n")).toBe('ordinary');
});

it('is full when that is said with a reason', () => {
  expect(tierOf(`// @tier full: ${REASON}\nimport 'x';\n`)).toBe('full');
  expect(tierOf(`/**\n * @tier full: ${REASON}\n */\n`)).toBe('full');
});

it.each([
  ['// @tier slow: because it is slow', /unknown tier 'slow'/u],
  ['// @tier ordinary: because it is not slow', /unknown tier 'ordinary'/u],
  ['// @tier', /unknown tier ''/u],
  ['// @tier full', /without a reason/u],
  ['// @tier full: slow', /without a reason/u],
  [`// @tier full: ${REASON}\n// @tier full: ${REASON}`, /more than one/u],
  [`${'\n'.repeat(20)}// @tier full: ${REASON}`, /line 21: move it to the head/u],
])('refuses %j', (text, message) => {
  expect(() => tierOf(text)).toThrow(message);
});

it('stands rightly in each file of this repository', () => {
  const root = `${import.meta.dirname}/../..`;
  expect(tierProblems(root)).toEqual([]);
  const files = testFiles(root);
  expect(files.some(({ tier }) => tier === 'ordinary')).toBe(true);
  expect(files.some(({ tier }) => tier === 'full')).toBe(true);
  expect(files.filter(({ path }) => path.includes('/dist/') || path.endsWith('docker.int.spec.ts'))).toEqual([]);
});

import { expect, it } from 'vitest';
import { refuseOldNode } from './node-version.js';

it.each(['22.19.0', '22.20.1', '24.21.0', '26.0.0'])('runs on Node %s', (version) => {
  expect(refuseOldNode(version)).toBeUndefined();
});

it.each(['20.19.0', '22.18.9'])('says in two lines that Node %s is too old', (version) => {
  expect(refuseOldNode(version)).toMatch(new RegExp(`^error: .* this is ${version}\\nnext: .*npm run fairlead.*\\n$`));
});

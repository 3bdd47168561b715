// What repeats the table of services because it cannot be made from it: the images. What the chart and docker-compose.yml make of it:
// chart-table.int.spec.ts, compose-table.spec.ts.
import { ROLES } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { entryIn, readText } from './image-entries.js';

describe.each(ROLES)('%s', (role) => {
  it('has an image', () => {
    const dockerfile = readText('Dockerfile');
    expect(dockerfile).toMatch(new RegExp(`^FROM runtime AS ${role}$`, 'm'));
    expect(entryIn(role)).toContain(`apps/${role}/dist/`);
    expect(/for app in ([a-z ]+);/.exec(dockerfile)?.[1]?.split(' ')).toContain(role);
  });
});

it('the Dockerfile has an image for each process of the table, the agent, the installer, setup and the demo, and no other', () => {
  const targets = [...readText('Dockerfile').matchAll(/^FROM runtime AS (.+)$/gm)].map(([, name]) => String(name));
  expect(targets.toSorted()).toEqual([...ROLES, 'agent', 'demo', 'installer', 'setup'].toSorted());
});

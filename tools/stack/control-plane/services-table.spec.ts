// What repeats the table of services because it cannot be made from it: the images. What the chart makes of it: chart-table.int.spec.ts.
import { existsSync } from 'node:fs';
import { ROLES } from '@fairlead/contracts';
import { scratchDir } from '@fairlead/testing';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { prepareCredentials } from '../prepare-credentials.js';
import { entryIn, readText } from './image-entries.js';

describe.each(ROLES)('%s', (role) => {
  it('has an image', () => {
    const dockerfile = readText('Dockerfile');
    expect(dockerfile).toMatch(new RegExp(`^FROM runtime AS ${role}$`, 'm'));
    expect(entryIn(role)).toContain(`apps/${role}/dist/`);
    expect(/for app in ([a-z ]+);/.exec(dockerfile)?.[1]?.split(' ')).toContain(role);
  });
});

it('the Dockerfile has an image for each process of the table, the agent, the installer and setup, and no other', () => {
  const targets = [...readText('Dockerfile').matchAll(/^FROM runtime AS (.+)$/gm)].map(([, name]) => String(name));
  expect(targets.toSorted()).toEqual([...ROLES, 'agent', 'installer', 'setup'].toSorted());
});

it('docker-compose.yml runs Postgres and NATS only, with files that --prepare makes from the table', async () => {
  const compose = parse(readText('docker-compose.yml')) as {
    readonly services: Readonly<Record<string, unknown>>;
    readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  };
  expect(Object.keys(compose.services)).toEqual(['postgres', 'nats']);
  await using scratch = await scratchDir();
  await prepareCredentials(scratch.file('state'));
  const files = Object.values(compose.secrets).map(({ file }) => file);
  const made = (file: string): boolean => existsSync(scratch.file('state', file.replace(/^\.fairlead\//, '')));
  expect(files.filter((file) => !made(file))).toEqual([]);
});

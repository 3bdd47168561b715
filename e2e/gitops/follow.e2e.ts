import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { greeting, greetingIn, push } from './support/catalog.js';
import { setUp, status } from './support/follow.js';
import { startWorld, type World } from './support/world.js';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

describe('a cluster that is to follow a repository', () => {
  it('has what is in it, after one import manifest', async () => {
    await setUp(world);
    await status(world, ({ health, report }) => {
      expect(report).toMatchObject({ phase: 'healthy', problem: null });
      expect(health).toBe('healthy');
    });
    expect(await greetingIn(world, 'from-git')).toBe('hello');
  });

  it('gets what is pushed', async () => {
    await push(world, 'from-git.yaml', greeting('from-git', 'hello again'));
    await eventually(async () => expect(await greetingIn(world, 'from-git')).toBe('hello again'), {
      timeoutMs: 60_000,
    });
  });
});

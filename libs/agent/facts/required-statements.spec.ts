import type { AgentFacts } from '@fairlead/tunnel/agent';
import { expect, it } from 'vitest';
import type { FactsFeed } from './feed.js';
import { withRequiredStatements } from './required-statements.js';

const REQUIRED = 'link:statements-required';
const seen = (capabilities: readonly string[]): AgentFacts => ({
  agentVersion: '1',
  kubernetesVersion: 'v1.34.4',
  platform: 'p',
  capabilities,
});

/** Facts that a look brings, and lists that require statements or not, as the test says. */
class World implements FactsFeed {
  readonly looks = new Set<(facts: AgentFacts) => void>();
  readonly lists = new Set<() => void>();
  required = false;

  constructor(private facts: AgentFacts) {}

  current = async (): Promise<AgentFacts> => this.facts;
  onChange = (listener: (facts: AgentFacts) => void) => {
    this.looks.add(listener);
    return () => void this.looks.delete(listener);
  };
  onRequired = (listener: () => void) => {
    this.lists.add(listener);
    return () => void this.lists.delete(listener);
  };

  look(facts: AgentFacts): void {
    this.facts = facts;
    for (const listener of this.looks) listener(facts);
  }

  async list(required: boolean): Promise<void> {
    this.required = required;
    for (const listener of this.lists) listener();
    await this.current();
    await Promise.resolve();
  }
}

it('an agent says that statements are required from the list on that requires them, until one that does not', async () => {
  const world = new World(seen(['link:facts', 'rbac:list-nodes']));
  const feed = withRequiredStatements(world, world);
  const told: unknown[] = [];
  const leave = feed.onChange(({ capabilities }) => told.push(capabilities));
  expect((await feed.current()).capabilities).not.toContain(REQUIRED);
  await world.list(false);
  expect(told).toEqual([]);
  await world.list(true);
  await world.list(true);
  expect(told).toEqual([['link:facts', REQUIRED, 'rbac:list-nodes']]);
  world.look(seen(['link:facts']));
  expect(told.at(-1)).toEqual(['link:facts', REQUIRED]);
  await world.list(false);
  expect(told.slice(2)).toEqual([['link:facts']]);
  leave();
  await world.list(true);
  expect([told.length, world.looks.size, world.lists.size]).toEqual([3, 0, 0]);
});

it('facts that did not change are one object, and what the manifest says stands there once', async () => {
  const world = new World(seen([REQUIRED]));
  world.required = true;
  const feed = withRequiredStatements(world, world);
  const first = await feed.current();
  expect(first.capabilities).toEqual([REQUIRED]);
  expect(await feed.current()).toBe(first);
});

import { describe, expect, it } from 'vitest';
import { eventSubject } from '../envelope.js';
import { EVENTS, type EventType } from './events.js';
import { ABOUT_EVENTS, asyncApi, eventsPage, exampleOf } from './index.js';

const types = Object.keys(EVENTS) as EventType[];
const document = asyncApi();

/** What stands at a reference within the document; undefined: nothing. */
function at(reference: string): unknown {
  const path = reference.slice('#/'.length).split('/');
  return path.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document);
}

describe('the catalogue of events', () => {
  it.each(types)('has an example of %s, as its schema says', (type) => {
    const { data } = exampleOf(type);
    expect(EVENTS[type].parse(data)).toEqual(data);
  });

  it('tells in which subjects they are', () => {
    const { channels } = document;
    for (const type of types) {
      for (const owner of ABOUT_EVENTS[type].owners) {
        const source = { role: owner, credential: owner === 'gateway' ? 'gateway-a' : owner };
        const teller = owner === 'gateway' ? 'gateway:gateway-a' : owner;
        const address = channels[type]?.address.replace('{tenant}', 'default').replace('{teller}', teller);
        expect(address).toBe(eventSubject('default', source, type));
      }
    }
  });

  it('refers to nothing that is not there', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, reference = '']) => reference,
    );
    expect(references.length).toBeGreaterThan(types.length);
    expect(references.filter((reference) => at(reference) === undefined)).toEqual([]);
  });

  it('lets readers find each type on the page, with what may be absent', () => {
    const page = eventsPage();
    for (const type of types) expect(page).toContain(`\n## ${type.slice('dev.fairlead.'.length)}\n`);
    expect(page).toContain('| `suppressed` | integer, may be absent |');
  });

  it('leaves objects open, for fields that are to come', () => {
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false');
  });
});

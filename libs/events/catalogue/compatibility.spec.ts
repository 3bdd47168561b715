import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { incompatibilities, movedChannels } from './compatibility.js';
import { jsonSchemaOf } from './json-schema.js';

const before = z.object({
  name: z.string().max(63),
  kind: z.enum(['a', 'b']),
  note: z.string().optional(),
  who: z.object({ id: z.string() }),
  ids: z.array(z.uuid()).max(8),
  scope: z.union([z.object({ all: z.literal(true) }), z.object({ names: z.array(z.string()) })]),
  labels: z.record(z.string(), z.string().max(63)),
});
const { shape } = before;

/** What is found, without the advice behind it. */
function found(after: z.ZodType): string[] {
  const sentences = incompatibilities({ 'x.y.v1': jsonSchemaOf(before) }, { 'x.y.v1': jsonSchemaOf(after) });
  return sentences.map((sentence) => /^x\.y\.v1: (.*)\. Leave it as it is published/.exec(sentence)?.[1] ?? sentence);
}

describe('what is published of events', () => {
  it.each([
    ['nothing', before],
    ['a field that may be absent', before.extend({ more: z.string().optional() })],
    ['a field with a default', before.extend({ more: z.array(z.string()).default([]) })],
    ['a field of an object in it', before.extend({ who: z.object({ id: z.string(), kind: z.string().default('') }) })],
    ['a value of an enumeration', before.extend({ kind: z.enum(['a', 'b', 'c']) })],
    ['words about a field', before.extend({ name: shape.name.describe('how people call it') })],
  ])('may be added to: %s', (_what, after) => {
    expect(found(after)).toEqual([]);
  });

  it('may get types', () => {
    const schema = jsonSchemaOf(before);
    expect(incompatibilities({ 'x.y.v1': schema }, { 'x.y.v1': schema, 'x.y.v2': schema })).toEqual([]);
  });

  it('loses no type', () => {
    expect(incompatibilities({ 'x.y.v1': jsonSchemaOf(before) }, {})).toEqual([
      'x.y.v1: it is gone. Leave it as it is published, and add the next version of the type',
    ]);
  });

  it.each([
    ['the field note is gone', before.omit({ note: true })],
    ['the field name may be absent now', before.extend({ name: shape.name.optional() })],
    ['the field note may no longer be absent', before.extend({ note: z.string() })],
    ['the new field more has no default, which events of before do not have', before.extend({ more: z.string() })],
    ['the field kind can no longer be "b"', before.extend({ kind: z.enum(['a']) })],
    ['the field kind is no longer an enumeration', before.extend({ kind: z.string() })],
    ['maxLength of the field name was 63 and is 64', before.extend({ name: z.string().max(64) })],
    ['the field who.id is gone', before.extend({ who: z.object({}) })],
    ['format of the field ids[] was "uuid" and is absent', before.extend({ ids: z.array(z.string()).max(8) })],
    ['maxItems of the field ids was 8 and is 4', before.extend({ ids: z.array(z.uuid()).max(4) })],
    [
      'maxLength of the field labels.* was 63 and is absent',
      before.extend({ labels: z.record(z.string(), z.string()) }),
    ],
    ['the field scope is something else than before', before.extend({ scope: shape.scope.nullable() })],
  ])('breaks readers when %s', (what, after) => {
    expect(found(after)).toContain(what);
  });
});

describe('the subjects of events', () => {
  const channel = (address: string, ...examples: string[]) => ({ address, parameters: { teller: { examples } } });
  const published = { 'x.y.v1': channel('fairlead.events.{tenant}.{teller}.y.v1', 'keys', 'access') };
  const found = (now: ReturnType<typeof channel>): string[] =>
    movedChannels(published, { 'x.y.v1': now, 'x.z.v1': channel('fairlead.events.{tenant}.{teller}.z.v1') });

  it('may have more who tell them', () => {
    expect(found(channel('fairlead.events.{tenant}.{teller}.y.v1', 'access', 'audit', 'keys'))).toEqual([]);
  });

  it('stay where readers listen, and lose nobody', () => {
    expect(found(channel('fairlead.{tenant}.y.v1', 'access', 'keys'))).toEqual([
      'x.y.v1: its subject was fairlead.events.{tenant}.{teller}.y.v1 and is fairlead.{tenant}.y.v1. Leave it as it is published, and add the next version of the type',
    ]);
    expect(found(channel('fairlead.events.{tenant}.{teller}.y.v1', 'access'))).toEqual([
      'x.y.v1: keys no longer tells it. Leave it as it is published, and add the next version of the type',
    ]);
  });
});

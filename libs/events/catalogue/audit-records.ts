import {
  AUDIT_SERVICE_ENTRIES,
  AuditedPassage,
  HandshakesRefused,
  RulesInForce,
  type AuditEntryKind,
} from '@fairlead/contracts';
import type { z } from 'zod';
import type { Schemas } from './compatibility.js';
import { jsonSchemaOf, type JsonSchema } from './json-schema.js';

/** Of each kind of entry but `event`, whose body is a CloudEvent, what its body is. The compiler asks for it. */
export const RECORDS: Readonly<Record<Exclude<AuditEntryKind, 'event'>, z.ZodType>> = {
  passage: AuditedPassage,
  handshakes: HandshakesRefused,
  rules: RulesInForce,
  ...AUDIT_SERVICE_ENTRIES,
};

export type RecordKind = keyof typeof RECORDS;

/** In the order of the page. */
export const RECORD_KINDS = Object.keys(RECORDS) as RecordKind[];

export function schemasOfRecords(): Schemas {
  return Object.fromEntries(RECORD_KINDS.map((kind) => [kind, jsonSchemaOf(RECORDS[kind])]));
}

/** A JSON Schema whose definitions are what programs that read the audit log can rely on. */
export function auditRecords(): { readonly definitions: Schemas; readonly [part: string]: unknown } {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Bodies of entries of the audit log of Fairlead, by the kind of the entry',
    description:
      'Fields may be added, which may be absent, and values of enumerations; nothing else is changed. A reader ignores what it does not know.',
    definitions: schemasOfRecords(),
  };
}

/** The fields of a schema, also where it may be null. */
export function fieldsOf({ properties, anyOf }: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return properties ?? anyOf?.find((choice) => choice.properties)?.properties ?? {};
}

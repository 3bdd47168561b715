import { z } from 'zod';

/** JSON Schema, draft 7, as far as events need it. */
export interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly [keyword: string]: unknown;
}

/**
 * What a reader of an event has to be ready for. A field that has a default is optional: events from before it was added do not have
 * it. Objects are open, because fields may be added. Throws for what JSON Schema cannot say, such as a transformation.
 */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema }) => tidy(jsonSchema as Record<string, unknown>),
  }) as JsonSchema;
}

/** Takes out what the format says already, what every safe integer is, and that there is nothing more. */
function tidy(schema: Record<string, unknown>): void {
  delete schema['$schema'];
  if (schema['format'] !== undefined) delete schema['pattern'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['properties'] !== undefined && schema['additionalProperties'] === false) {
    delete schema['additionalProperties'];
  }
}

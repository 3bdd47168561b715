import type { HeaderField } from './hpack/index.js';

/** The head of a request, as it came. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  /** Without pseudo headers, in their order. */
  readonly fields: readonly HeaderField[];
}

/** The head of an answer. */
export interface ResponseHead {
  readonly status: number;
  readonly fields: readonly HeaderField[];
}

/** The value of a header; several of one name are joined as RFC 9110, 5.3 has it. */
export function headerValue(fields: readonly HeaderField[], name: string): string | undefined {
  const values = fields.filter(([each]) => each === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(', ');
}

/** Null for what RFC 9113, section 8, calls malformed. */
export function readRequest(fields: readonly HeaderField[]): RequestHead | null {
  const parts = split(fields, new Set([':method', ':scheme', ':path', ':authority']));
  if (!parts) return null;
  const method = parts.pseudo.get(':method');
  const path = parts.pseudo.get(':path');
  if (!method || !path || !parts.pseudo.get(':scheme')) return null;
  return { method, path, authority: parts.pseudo.get(':authority') ?? '', fields: parts.rest };
}

/** Null for what is malformed. */
export function readResponse(fields: readonly HeaderField[]): ResponseHead | null {
  const parts = split(fields, new Set([':status']));
  const status = parts?.pseudo.get(':status') ?? '';
  // HTTP/2 has no protocol to switch to (RFC 9113, 8.6).
  return parts && /^[1-5]\d\d$/.test(status) && status !== '101'
    ? { status: Number(status), fields: parts.rest }
    : null;
}

/** Null for what is malformed. */
export function readTrailers(fields: readonly HeaderField[]): readonly HeaderField[] | null {
  return split(fields, new Set())?.rest ?? null;
}

interface Parts {
  readonly pseudo: Map<string, string>;
  readonly rest: HeaderField[];
}

function split(fields: readonly HeaderField[], allowed: ReadonlySet<string>): Parts | null {
  const pseudo = new Map<string, string>();
  const rest: HeaderField[] = [];
  for (const field of fields) {
    const [name, value] = field;
    if (name.startsWith(':')) {
      if (rest.length > 0 || !allowed.has(name) || pseudo.has(name) || isBadValue(value)) return null;
      pseudo.set(name, value);
    } else {
      if (!isOrdinary(name, value)) return null;
      rest.push(field);
    }
  }
  return { pseudo, rest };
}

/** A lower-case token (RFC 9110, 5.6.2). */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** A line break, a NUL, or white space at an end (RFC 9113, 8.2.1). */
const isBadValue = (value: string): boolean => value.includes('\0') || /[\r\n]|^[ \t]|[ \t]$/.test(value);
/** They speak of one connection, and have no meaning here (RFC 9113, 8.2.2). */
const OF_A_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

function isOrdinary(name: string, value: string): boolean {
  if (!NAME.test(name) || isBadValue(value) || OF_A_CONNECTION.has(name)) return false;
  return name !== 'te' || value === 'trailers';
}

import { FIELD_OVERHEAD_BYTES, fieldBytes, type HeaderField } from './header-field.js';

export interface HeaderLimits {
  /** Sum over the fields of name, value and 32 bytes (RFC 9113 10.5.1). */
  readonly maxListBytes: number;
  readonly maxFields: number;
}

export type DecodedBlock =
  | { readonly kind: 'fields'; readonly fields: readonly HeaderField[] }
  /** Decoded to keep the table right, but more than the limits allow: nothing of it was kept. */
  | { readonly kind: 'too-large' };

/** The fields of one block, up to the limits. */
export class FieldList {
  /** Undefined once there were more than the limits allow. */
  #fields: HeaderField[] | undefined = [];
  #roomBytes: number;
  readonly #maxFields: number;

  constructor(limits: HeaderLimits) {
    this.#roomBytes = limits.maxListBytes;
    this.#maxFields = limits.maxFields;
  }

  /** The most bytes that the name and value of a further field can have together; negative when there is no room for any. */
  get roomBytes(): number {
    return this.#roomBytes - FIELD_OVERHEAD_BYTES;
  }

  /** Keeps the field itself, not a copy, or drops everything when it is one too many. */
  add(field: HeaderField): void {
    if (this.#fields === undefined) return;
    this.#roomBytes -= fieldBytes(field);
    if (this.#roomBytes < 0 || this.#fields.length >= this.#maxFields) this.overflow();
    else this.#fields.push(field);
  }

  /** The block holds more than the limits allow: drops what there is and whatever comes. */
  overflow(): void {
    this.#fields = undefined;
    this.#roomBytes = 0;
  }

  result(): DecodedBlock {
    return this.#fields === undefined ? { kind: 'too-large' } : { kind: 'fields', fields: this.#fields };
  }
}

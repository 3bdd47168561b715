import { BlockReader } from './block-reader.js';
import { DynamicTable } from './dynamic-table.js';
import { FieldList, type DecodedBlock, type HeaderLimits } from './field-list.js';
import { FIELD_OVERHEAD_BYTES, HpackError, type HeaderField } from './header-field.js';
import { STATIC_TABLE } from './static-table.js';

/** The table's capacity until the peer changes it: SETTINGS_HEADER_TABLE_SIZE begins here (RFC 9113 6.5.2). */
const INITIAL_TABLE_BYTES = 4096;

/** A peer that changed its mind sends the smallest and the last size (RFC 7541 4.2); nothing needs a third. */
const MAX_TABLE_RESIZES = 2;

/**
 * Decodes the header blocks of one direction of one connection, in their order (RFC 7541). Names and values are not
 * checked: upper case, pseudo-headers and the like are the caller's.
 */
export class HpackDecoder {
  readonly #limits: HeaderLimits;
  readonly #maxTableBytes: number;
  readonly #table: DynamicTable;

  /**
   * `maxTableBytes` is the SETTINGS_HEADER_TABLE_SIZE that the peer was told. A value below 4096 holds from the first
   * block on, so a peer that has not read the setting yet may be refused.
   */
  constructor(limits: HeaderLimits, maxTableBytes = INITIAL_TABLE_BYTES) {
    this.#limits = limits;
    this.#maxTableBytes = maxTableBytes;
    this.#table = new DynamicTable(Math.min(maxTableBytes, INITIAL_TABLE_BYTES));
  }

  /**
   * One whole block: HEADERS and its CONTINUATIONs put together. Keeps no reference to it. Throws HpackError when it is
   * malformed; the table is then not the peer's any more, and no further block can be decoded.
   */
  decode(block: Buffer): DecodedBlock {
    const reader = new BlockReader(block);
    const fields = new FieldList(this.#limits);
    this.#resizeTable(reader);
    while (!reader.ended) this.#readField(reader, fields);
    return fields.result();
  }

  /** Table size updates (RFC 7541 6.3) stand before the fields only. */
  #resizeTable(reader: BlockReader): void {
    for (let resizes = 0; !reader.ended && (reader.peek() & 0xe0) === 0x20; resizes++) {
      const bytes = reader.integer(5);
      if (bytes > this.#maxTableBytes) throw new HpackError('a table size above the limit');
      if (resizes === MAX_TABLE_RESIZES) throw new HpackError('too many table size updates');
      this.#table.resize(bytes);
    }
  }

  /** One field in any representation (RFC 7541 6). */
  #readField(reader: BlockReader, fields: FieldList): void {
    const first = reader.peek();
    if (first >= 0x80) fields.add(this.#lookup(reader.integer(7)));
    else if (first >= 0x40) this.#readIndexedLiteral(reader, fields);
    else if (first >= 0x20) throw new HpackError('a table size update after a field');
    else this.#readLiteral(reader, fields);
  }

  #readIndexedLiteral(reader: BlockReader, fields: FieldList): void {
    const tableRoomBytes = this.#table.capacityBytes - FIELD_OVERHEAD_BYTES;
    const field = this.#literal(reader, 6, Math.max(fields.roomBytes, tableRoomBytes));
    if (field === undefined) {
      this.#table.clear();
      fields.overflow();
      return;
    }
    this.#table.insert(field);
    fields.add(field);
  }

  /** Without indexing or never indexed: the difference is for those who encode it again. */
  #readLiteral(reader: BlockReader, fields: FieldList): void {
    const field = this.#literal(reader, 4, fields.roomBytes);
    if (field === undefined) fields.overflow();
    else fields.add(field);
  }

  /** Undefined when name and value have more than `roomBytes`: then nobody could keep the field, and it is not made. */
  #literal(reader: BlockReader, prefixBits: number, roomBytes: number): HeaderField | undefined {
    const index = reader.integer(prefixBits);
    const name = index === 0 ? reader.string(roomBytes) : this.#lookup(index)[0];
    const value = reader.string(name === undefined ? -1 : roomBytes - name.length);
    return name === undefined || value === undefined ? undefined : [name, value];
  }

  /** The static table, then the dynamic one, counted from 1 (RFC 7541 2.3.3). */
  #lookup(index: number): HeaderField {
    const place = index - 1;
    const field = place < STATIC_TABLE.length ? STATIC_TABLE[place] : this.#table.at(place - STATIC_TABLE.length);
    if (field === undefined) throw new HpackError('an index outside the tables');
    return field;
  }
}

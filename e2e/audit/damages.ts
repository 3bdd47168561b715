/** Something that whoever has the rights of the audit service may do, and how it is undone. */
interface Damage {
  readonly what: string;
  readonly sql: readonly string[];
  readonly named: RegExp;
}

const OF_LOG = `tenant_id = 'default' and incarnation = 1`;
/** Leaves are of one length: so the third one of the first bundle begins at this byte, after its own two bytes of length. */
const LEAF_BYTES = 2 + '{"v":1,"commitment":""}'.length + 44;
const leafAt = (number: number): string => `substring(bytes from ${(number - 1) * LEAF_BYTES + 1} for ${LEAF_BYTES})`;

/** Each leaves a log of which `verify` has to name the first bad entry. */
export const DAMAGES: readonly Damage[] = [
  {
    what: 'the body of an entry is edited',
    sql: [`update entries set body = body || ' ' where tenant_id = 'default' and number = 3`],
    named: /entry 3 is not what was logged/,
  },
  {
    what: 'an entry is deleted',
    sql: [`delete from entries where tenant_id = 'default' and number = 3`],
    named: /entry 3 is not there/,
  },
  {
    what: 'the beginning is deleted, as if the retention had taken it',
    sql: [`delete from entries where tenant_id = 'default' and number <= 3`],
    named: /entry 1 is not there, and the log does not say that the retention took it/,
  },
  {
    what: 'an entry is deleted with its leaf',
    sql: [
      `delete from entries where tenant_id = 'default' and number = 3`,
      `update audit_tiles set bytes = overlay(bytes placing '\\x' from ${2 * LEAF_BYTES + 1} for ${LEAF_BYTES}) where ${OF_LOG} and kind = -1 and index = 0`,
    ],
    named: /entry 3: /,
  },
  {
    what: 'two leaves change places',
    sql: [
      `update audit_tiles set bytes = overlay(overlay(bytes placing ${leafAt(3)} from ${3 * LEAF_BYTES + 1} for ${LEAF_BYTES})
         placing ${leafAt(4)} from ${2 * LEAF_BYTES + 1} for ${LEAF_BYTES}) where ${OF_LOG} and kind = -1 and index = 0`,
    ],
    named: /entry 3: /,
  },
  {
    what: 'a hash is changed',
    sql: [
      // Whatever the byte is.
      `update audit_tiles set bytes = set_byte(bytes, 64, 255 - get_byte(bytes, 64)) where ${OF_LOG} and kind = 0 and index = 0`,
    ],
    named: /entry 3: /,
  },
  {
    what: 'the end is cut off',
    sql: [
      `update audit_tiles set bytes = substring(bytes for ${5 * LEAF_BYTES}) where ${OF_LOG} and kind = -1 and index = 0`,
    ],
    named: /entry 6: /,
  },
];

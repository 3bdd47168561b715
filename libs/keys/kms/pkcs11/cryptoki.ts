import { as, decode, load, out, pointer, proto, sizeof, struct, type TypeObject } from 'koffi';

/** Names and numbers of PKCS #11 v2.40: https://docs.oasis-open.org/pkcs11/pkcs11-base/v2.40/os/pkcs11-base-v2.40-os.html */
export const CKR = {
  OK: 0x0,
  PIN_INCORRECT: 0xa0,
  PIN_LOCKED: 0xa4,
  USER_ALREADY_LOGGED_IN: 0x100,
} as const;
export const CKM_AES_GCM = 0x1087;
export const CKA = { CLASS: 0x0, LABEL: 0x3, KEY_TYPE: 0x100, VALUE_LEN: 0x161, EXTRACTABLE: 0x162 } as const;
export const CKO_SECRET_KEY = 0x4;
export const CKK_AES = 0x1f;
export const CKF = { USER_PIN_FINAL_TRY: 0x20000, USER_PIN_LOCKED: 0x40000 } as const;
const CKU_USER = 1;
const CKF_SERIAL_SESSION = 0x4;
const CKF_RW_SESSION = 0x2;
const MAX_SLOTS = 256;
const TOKEN_INFO_BYTES = 512;
const LABEL_BYTES = 32;
/** After label, manufacturer, model and serial number. */
const FLAGS_AT = 32 + 32 + 16 + 16;

/** Places of functions in CK_FUNCTION_LIST, which begins with a version. */
const PLACES = {
  C_Initialize: 0,
  C_GetSlotList: 4,
  C_GetTokenInfo: 6,
  C_OpenSession: 12,
  C_Login: 18,
  C_GetAttributeValue: 24,
  C_FindObjectsInit: 26,
  C_FindObjects: 27,
  C_FindObjectsFinal: 28,
  C_EncryptInit: 29,
  C_Encrypt: 30,
  C_DecryptInit: 33,
  C_Decrypt: 34,
} as const;
type FunctionName = keyof typeof PLACES;
const POINTER_BYTES = 8;

// Types without names: koffi keeps names for the whole process, so a second evaluation of this file, or a second module, would find them taken.
const ATTRIBUTE = struct({ type: 'ulong', value: 'uint8_t *', length: 'ulong' });
const MECHANISM = struct({ mechanism: 'ulong', parameter: 'void *', length: 'ulong' });
const GCM = struct({
  iv: 'uint8_t *',
  ivLength: 'ulong',
  ivBits: 'ulong',
  aad: 'uint8_t *',
  aadLength: 'ulong',
  tagBits: 'ulong',
});
const NUMBER_OUT = out(pointer('ulong'));
const NUMBER_IN_OUT = 'uint8_t *';
const BYTES = 'uint8_t *';
/** The C type of a list of attributes. */
export const TEMPLATE = pointer(ATTRIBUTE);

const SIGNATURES: Readonly<Record<FunctionName, Parameters<typeof proto>[1]>> = {
  C_Initialize: ['void *'],
  C_GetSlotList: ['uint8_t', BYTES, NUMBER_IN_OUT],
  C_GetTokenInfo: ['ulong', BYTES],
  C_OpenSession: ['ulong', 'ulong', 'void *', 'void *', NUMBER_OUT],
  C_Login: ['ulong', 'ulong', BYTES, 'ulong'],
  C_GetAttributeValue: ['ulong', 'ulong', TEMPLATE, 'ulong'],
  C_FindObjectsInit: ['ulong', TEMPLATE, 'ulong'],
  C_FindObjects: ['ulong', BYTES, 'ulong', NUMBER_OUT],
  C_FindObjectsFinal: ['ulong'],
  C_EncryptInit: ['ulong', pointer(MECHANISM), 'ulong'],
  C_Encrypt: ['ulong', BYTES, 'ulong', BYTES, NUMBER_IN_OUT],
  C_DecryptInit: ['ulong', pointer(MECHANISM), 'ulong'],
  C_Decrypt: ['ulong', BYTES, 'ulong', BYTES, NUMBER_IN_OUT],
} as never;

/** What a PKCS #11 module answered but CKR_OK. */
export class CryptokiError extends Error {
  readonly result: number;

  constructor(call: string, result: number) {
    super(`${call} answered 0x${result.toString(16)}`);
    this.result = result;
  }
}

export interface Attribute {
  readonly type: number;
  readonly value: Buffer;
}

export interface TokenInfo {
  readonly slot: number;
  readonly label: string;
  readonly flags: number;
}

/**
 * A PKCS #11 module, loaded into this process. Calls block the whole process, and a faulty module can end it: to be used in a process of
 * its own only. 64-bit systems where `long` has 64 bits (all but Windows). Everything throws `CryptokiError`.
 */
export class Cryptoki {
  readonly #functions = new Map<FunctionName, (...args: unknown[]) => number | bigint>();
  readonly #list: unknown;

  /** Throws whatever the system says of a library that cannot be loaded. */
  constructor(path: string) {
    const getList = load(path).func('C_GetFunctionList', 'ulong', [out(pointer('void *'))]);
    const found: unknown[] = [null];
    const result = Number(getList(found));
    if (result !== CKR.OK || found[0] === null) throw new CryptokiError('C_GetFunctionList', result);
    this.#list = found[0];
    this.call('C_Initialize', null);
  }

  /** Slots that have a token. */
  tokens(): TokenInfo[] {
    const slots = Buffer.alloc(MAX_SLOTS * 8);
    const count = ulong(MAX_SLOTS);
    this.call('C_GetSlotList', 1, slots, count);
    return Array.from({ length: number(count) }, (_, at) => {
      const slot = number(slots, at * 8);
      const info = Buffer.alloc(TOKEN_INFO_BYTES);
      this.call('C_GetTokenInfo', slot, info);
      return { slot, label: info.toString('utf8', 0, LABEL_BYTES).trimEnd(), flags: number(info, FLAGS_AT) };
    });
  }

  /** The handle of a session. */
  openSession(slot: number, writes = false): number {
    return this.#output('C_OpenSession', slot, CKF_SERIAL_SESSION | (writes ? CKF_RW_SESSION : 0), null, null);
  }

  login(session: number, pin: Buffer): void {
    this.call('C_Login', session, CKU_USER, pin, pin.length);
  }

  /** Handles of at most `limit` objects. */
  find(session: number, template: readonly Attribute[], limit: number): number[] {
    this.call('C_FindObjectsInit', session, toTemplate(template), template.length);
    const handles = Buffer.alloc(limit * 8);
    const count = this.#output('C_FindObjects', session, handles, limit);
    this.call('C_FindObjectsFinal', session);
    return Array.from({ length: count }, (_, at) => number(handles, at * 8));
  }

  attribute(session: number, object: number, type: number, bytes: number): Buffer {
    const value = Buffer.alloc(bytes);
    this.call('C_GetAttributeValue', session, object, toTemplate([{ type, value }]), 1);
    return value;
  }

  /** AES-GCM with a tag of 128 bits, which is at the end. */
  encryptGcm(session: number, key: number, iv: Buffer, aad: Buffer, plain: Buffer): Buffer {
    this.call('C_EncryptInit', session, gcm(iv, aad), key);
    return this.#answer('C_Encrypt', session, plain, plain.length + 16);
  }

  decryptGcm(session: number, key: number, iv: Buffer, aad: Buffer, sealed: Buffer): Buffer {
    this.call('C_DecryptInit', session, gcm(iv, aad), key);
    return this.#answer('C_Decrypt', session, sealed, sealed.length);
  }

  call(name: FunctionName, ...args: unknown[]): void {
    const result = Number(this.#function(name)(...args));
    if (result !== CKR.OK) throw new CryptokiError(name, result);
  }

  #output(name: FunctionName, ...args: unknown[]): number {
    const value: (number | bigint)[] = [0];
    this.call(name, ...args, value);
    return Number(value[0]);
  }

  #answer(name: FunctionName, session: number, input: Buffer, most: number): Buffer {
    const output = Buffer.alloc(most);
    const length = ulong(most);
    this.call(name, session, input, input.length, output, length);
    return output.subarray(0, number(length));
  }

  #function(name: FunctionName): (...args: unknown[]) => number | bigint {
    const known = this.#functions.get(name);
    if (known) return known;
    const address: unknown = decode(this.#list, POINTER_BYTES * (1 + PLACES[name]), 'void *');
    const type: TypeObject = proto('ulong', SIGNATURES[name] as never);
    const made = decode(address, type) as (...args: unknown[]) => number | bigint;
    this.#functions.set(name, made);
    return made;
  }
}

/** As PKCS #11 has numbers in attributes. */
export function ulong(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function number(bytes: Buffer, at = 0): number {
  return Number(bytes.readBigUInt64LE(at));
}

/** As a value of `TEMPLATE`. */
export function toTemplate(attributes: readonly Attribute[]): unknown[] {
  return attributes.map(({ type, value }) => ({ type, value, length: value.length }));
}

function gcm(iv: Buffer, aad: Buffer): unknown {
  const parameter = { iv, ivLength: iv.length, ivBits: iv.length * 8, aad, aadLength: aad.length, tagBits: 128 };
  return { mechanism: CKM_AES_GCM, parameter: as(parameter, pointer(GCM)), length: sizeof(GCM) };
}

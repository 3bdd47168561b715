import { randomBytes } from 'node:crypto';
import { CKA, CKF, CKK_AES, CKO_SECRET_KEY, CKR, Cryptoki, CryptokiError, ulong, type TokenInfo } from './cryptoki.js';
import type { TokenAnswer, TokenFailure, TokenRequest, TokenSettings } from './messages.js';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** A failure that says who has to do something about it. */
class TokenError extends Error {
  readonly failure: TokenFailure;

  constructor(failure: TokenFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

interface Opened {
  readonly cryptoki: Cryptoki;
  readonly session: number;
  /** Handles of keys by their labels. */
  readonly keys: Map<string, number>;
}

/** The one session of this process with a token. Never throws: an answer says what went wrong. */
export class TokenSession {
  #opened: Opened | null = null;

  answer(request: TokenRequest): TokenAnswer {
    try {
      return { bytes: this.#do(request) };
    } catch (error) {
      if (error instanceof TokenError) return { failure: error.failure, message: error.message };
      return { failure: 'away', message: error instanceof Error ? error.message : String(error) };
    }
  }

  #do(request: TokenRequest): Uint8Array {
    if (request.ask === 'open') {
      this.#opened = open(request.settings, Buffer.from(request.pin));
      return new Uint8Array();
    }
    if (!this.#opened) throw new TokenError('away', 'the token is not open');
    const key = keyNamed(this.#opened, request.keyLabel);
    if (request.ask === 'find') return new Uint8Array();
    const { context, bytes } = request;
    return request.ask === 'wrap'
      ? wrap(this.#opened, key, context, bytes)
      : unwrap(this.#opened, key, context, Buffer.from(bytes));
  }
}

function open({ modulePath, tokenLabel }: TokenSettings, pin: Buffer): Opened {
  const cryptoki = loadModule(modulePath);
  const [token, ...others] = cryptoki.tokens().filter(({ label }) => label === tokenLabel);
  if (!token) throw new TokenError('away', `no slot has a token with the label ${tokenLabel}`);
  if (others.length > 0) throw new TokenError('settings', `${others.length + 1} tokens have the label ${tokenLabel}`);
  assertMayTry(token);
  const session = cryptoki.openSession(token.slot);
  try {
    cryptoki.login(session, pin);
  } catch (error) {
    if (!(error instanceof CryptokiError) || error.result !== CKR.USER_ALREADY_LOGGED_IN) throw refusedPin(error);
  } finally {
    pin.fill(0);
  }
  return { cryptoki, session, keys: new Map() };
}

function loadModule(path: string): Cryptoki {
  try {
    return new Cryptoki(path);
  } catch (error) {
    if (error instanceof CryptokiError) throw error;
    throw new TokenError(
      'settings',
      `FAIRLEAD_PKCS11_MODULE ${path}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** A token that is locked has to be set up anew: the last try is left to a person. */
function assertMayTry({ flags }: TokenInfo): void {
  if ((flags & (CKF.USER_PIN_LOCKED | CKF.USER_PIN_FINAL_TRY)) === 0) return;
  throw new TokenError(
    'pin',
    'wrong PINs were given so often that the token is locked, or would be by one more: log in once by hand with the right one, or unlock it',
  );
}

function refusedPin(error: unknown): unknown {
  const { result } = error as { result?: unknown };
  if (result === CKR.PIN_LOCKED) return new TokenError('pin', 'the PIN is locked');
  return result === CKR.PIN_INCORRECT ? new TokenError('pin', 'the PIN is another one') : error;
}

function keyNamed(opened: Opened, label: string): number {
  const known = opened.keys.get(label);
  if (known !== undefined) return known;
  const { cryptoki, session } = opened;
  const template = [
    { type: CKA.CLASS, value: ulong(CKO_SECRET_KEY) },
    { type: CKA.KEY_TYPE, value: ulong(CKK_AES) },
    { type: CKA.LABEL, value: Buffer.from(label) },
  ];
  const [key, another] = cryptoki.find(session, template, 2);
  if (key === undefined) throw new TokenError('settings', `the token has no AES key with the label ${label}`);
  if (another !== undefined) throw new TokenError('settings', `the token has several AES keys with the label ${label}`);
  if (cryptoki.attribute(session, key, CKA.EXTRACTABLE, 1)[0] !== 0) {
    throw new TokenError('settings', `the key ${label} may leave the token (CKA_EXTRACTABLE): make one that may not`);
  }
  if (!cryptoki.attribute(session, key, CKA.VALUE_LEN, 8).equals(ulong(KEY_BYTES))) {
    throw new TokenError('settings', `the key ${label} has not 256 bits`);
  }
  opened.keys.set(label, key);
  return key;
}

/** Nonce, then ciphertext with its tag. */
function wrap({ cryptoki, session }: Opened, key: number, context: string, bytes: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  return Buffer.concat([iv, cryptoki.encryptGcm(session, key, iv, Buffer.from(context), Buffer.from(bytes))]);
}

function unwrap(opened: Opened, key: number, context: string, bytes: Buffer): Buffer {
  if (bytes.length < IV_BYTES + TAG_BYTES) throw new TokenError('data', 'too short');
  const [iv, sealed] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES)];
  try {
    return opened.cryptoki.decryptGcm(opened.session, key, iv, Buffer.from(context), sealed);
  } catch (error) {
    if (!(error instanceof CryptokiError)) throw error;
    // Modules have no result of their own for a wrong tag (SoftHSM: CKR_GENERAL_ERROR). If the token still works, it is the data.
    wrap(opened, key, context, iv);
    throw new TokenError('data', error.message);
  }
}

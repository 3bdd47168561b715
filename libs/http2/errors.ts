import { CODE } from './wire/constants.js';

/** The peer broke HTTP/2, or does what no honest peer does: the session ends with GOAWAY and this code. */
export class SessionError extends Error {
  /** Of RFC 9113, section 7. */
  readonly code: number;
  /** One word for it, for metrics and logs. */
  readonly violation: string;

  constructor(code: number, message: string, violation = 'protocol') {
    super(message);
    this.name = 'SessionError';
    this.code = code;
    this.violation = violation;
  }
}

// What a peer does that ends the session.

export function broken(what: string): SessionError {
  return new SessionError(CODE.protocolError, `the peer sent ${what}`);
}

export function sized(what: string): SessionError {
  return new SessionError(CODE.frameSizeError, `the peer sent ${what} of a wrong size`);
}

export function late(): SessionError {
  return new SessionError(CODE.streamClosed, 'the peer sent more on a stream that it was done with');
}

export function flooded(): SessionError {
  return new SessionError(CODE.flowControlError, 'the peer sent more than its window');
}

export function unreadAnswers(): SessionError {
  return new SessionError(CODE.enhanceYourCalm, 'the peer asks and does not read the answers', 'unread-answers');
}

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

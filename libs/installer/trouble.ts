/** Why the installer cannot, or will not, do something: a code of libs/installer/README.md and a sentence for people. */
export class Trouble extends Error {
  override readonly name = 'Trouble';
  readonly code: string;

  constructor(code: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** Something a person can act on: its message is shown alone, without a stack trace. */
export class BenchError extends Error {}

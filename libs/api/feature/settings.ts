import type { Check } from '@fairlead/observability';
import type { Door } from '../contract/schemas.js';

/** What controllers need to know of the configuration. A class, so that it can be injected. */
export class ApiSettings {
  /** Where people reach this API: scheme, host and port, no trailing slash. */
  readonly publicUrl: string;
  readonly doors: readonly Door[];
  /** The CONNECT doors. */
  readonly connectDoors: readonly Door[];
  /** Answers at once, from memory. */
  readonly readiness: () => readonly Check[];

  constructor(options: {
    publicUrl: string;
    doors: readonly Door[];
    connectDoors: readonly Door[];
    readiness: () => readonly Check[];
  }) {
    this.publicUrl = options.publicUrl.replace(/\/+$/, '');
    this.doors = options.doors;
    this.connectDoors = options.connectDoors;
    this.readiness = options.readiness;
  }
}

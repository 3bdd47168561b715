/** Somebody whom the demo issuer lets in, as whoever clicks on them. */
export interface DemoUser {
  /** `sub` of their ID tokens. */
  readonly name: string;
  readonly title: string;
  readonly groups: readonly string[];
}

/** Neither of them administers anything. */
export const DEMO_USERS: readonly DemoUser[] = [
  { name: 'dana', title: 'a developer', groups: ['developers'] },
  { name: 'otto', title: 'an engineer on call', groups: ['developers', 'on-call'] },
];

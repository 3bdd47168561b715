/** What every world of scenarios has. */
export interface AnyWorld extends AsyncDisposable {
  /** Resolves when nothing is disturbed any more. */
  whole(): Promise<void>;
}

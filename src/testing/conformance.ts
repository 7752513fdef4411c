/** One check of a conformance suite, for any test runner: `run` throws an error that says what differs. */
export interface ConformanceCase {
  readonly name: string;
  run(): Promise<void>;
}

export type { LoggedValue } from "./logged-value.ts";
export { Logger, SmartLogger } from "./logger.ts";
export type {
  LoggedRows,
  LoggedValues,
  LoggerOptions,
  LoggerSummary,
  OwnedLogger,
} from "./logger-options.ts";

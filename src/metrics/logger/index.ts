export {
  type LoggedRows,
  type LoggedValues,
  Logger,
  type LoggerOptions,
  type LoggerSummary,
  type OwnedLogger,
  SmartLogger,
} from "./logger.ts";
export type { LoggedValue } from "./series.ts";

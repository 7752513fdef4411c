export { type LoggedValues, Logger, type LoggerOptions, type OwnedLogger, SmartLogger } from "./logger.ts";
export type { LoggedValue } from "./series.ts";

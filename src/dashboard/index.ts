/** The dashboard: a server over a stats store and a directory of runs, its page, and reports. Head: server.ts. */
export { makeReport, type ReportOptions } from "./report.ts";
export { type DashboardOptions, type RunningDashboard, startDashboard } from "./server.ts";

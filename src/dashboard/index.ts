/** The dashboard: a server over a stats store and a directory of runs, and its page. Head: server.ts. */
export { type DashboardOptions, type RunningDashboard, startDashboard } from "./server.ts";

/** How gradients are: the gradient monitor. */
export { gradientMonitor } from "./gradient-monitor.ts";
export type { Ailment, GradientMonitorOptions } from "./options.ts";

export { cond, switchBranch } from "./branches.ts";
export { customGradient, remat, stopGradient } from "./custom.ts";
export { type GradOptions, grad, valueAndGrad, vjp } from "./grad.ts";
export { type ScanOptions, scan, whileLoop } from "./loops.ts";
export { type VmapOptions, vmap } from "./vmap.ts";

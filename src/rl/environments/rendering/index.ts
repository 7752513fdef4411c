/** Drawings as text and as SVG. */
export { asSvg, asSvgAnimation, type SvgAnimationOptions, type SvgOptions } from "./svg.ts";
export { asText, type TextOptions } from "./text.ts";

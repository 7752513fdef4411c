const units = ["B", "kB", "MB", "GB", "TB"];

/** A number of bytes for people: `12 B`, `1.5 kB`, `2.0 GB`. */
export function bytesText(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return power === 0 ? `${bytes} B` : `${(bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
}

/** Milliseconds between two looks. */
const pause = 20;

/** Looks again and again until something holds, or fails with what `late` gives. */
export async function until(
  seconds: number,
  holds: () => Promise<boolean>,
  late: () => Promise<Error>,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await holds())) {
    if (performance.now() > end) throw await late();
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

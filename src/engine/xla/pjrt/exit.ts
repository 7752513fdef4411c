const open = new Set<() => void>();

function closeAll(): void {
  for (const close of [...open]) {
    try {
      close();
    } catch {
      // The process is ending; nothing can be reported any more.
    }
  }
}

/**
 * Runs `close` when the process ends, unless the returned function is called first.
 *
 * A plugin whose threads still compute when the process ends crashes in its exit handlers; closing the client
 * waits for them. The listener exists only while a client is open.
 */
export function closeAtExit(close: () => void): () => void {
  if (open.size === 0) process.on("exit", closeAll);
  open.add(close);
  return () => {
    open.delete(close);
    if (open.size === 0) process.off("exit", closeAll);
  };
}

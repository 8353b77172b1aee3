/**
 * Waits until a condition holds; for events on the other end of a socket or in another process, which a test cannot await.
 *
 * @param condition polled every few milliseconds
 * @param awaited completes "Timed out after 5000 ms waiting for …" in the failure: `'the upstream call to be aborted'`
 * @throws if the condition does not hold within `timeoutMs`
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  awaited: string,
  timeoutMs = 5000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Timed out after ${timeoutMs} ms waiting for ${awaited}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

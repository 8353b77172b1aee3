const LF = 10
const CR = 13
const COLON = 0x3a

/**
 * Whether bytes of an event stream are comments and blank lines alone, with which an upstream keeps a connection open but says
 * nothing. The rest of a comment that was split between two chunks counts as something said. Costs a look at the first byte of
 * all other chunks.
 */
export function holdsCommentsOnly(chunk: Uint8Array): boolean {
  let at = 0
  while (at < chunk.length) {
    const byte = chunk[at]
    if (byte === LF || byte === CR) at++
    else if (byte !== COLON) return false
    else while (at < chunk.length && chunk[at] !== LF && chunk[at] !== CR) at++
  }
  return true
}

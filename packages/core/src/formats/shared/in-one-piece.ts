/**
 * Text that is written again and again. What is put together with `+` stays a tree of its parts in V8, and each text that it
 * becomes a part of has to walk it all when it is written out.
 */
export const inOnePiece = (...parts: readonly string[]): string => parts.join('')

/** A JSON document: its text, or the same in UTF-8. */
export type Source = string | Uint8Array

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** The character or byte there; none (NaN, undefined) outside the document. */
export const codeAt = (source: Source, at: number): number | undefined =>
  typeof source === 'string' ? source.charCodeAt(at) : source[at]

/** What stands between two places, as text. */
export const slice = (source: Source, start: number, end: number): string =>
  typeof source === 'string' ? source.slice(start, end) : decoder.decode(source.subarray(start, end))

/** The same without a copy, for `joined`. */
export const part = (source: Source, start: number, end?: number): Source =>
  typeof source === 'string' ? source.slice(start, end) : source.subarray(start, end)

/** The pieces of a new document, of the kind of the one that they are made of. */
export function joined(source: Source, pieces: readonly Source[]): Source {
  if (typeof source === 'string') return pieces.join('')
  const chunks = pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece))
  const out = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const chunk of chunks) {
    out.set(chunk, at)
    at += chunk.length
  }
  return out
}

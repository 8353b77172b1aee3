import type { ReasoningPart, Sealed } from '../ir.ts'
import { readSealBase64, writeSealBase64 } from '../shared/seals.ts'

/**
 * Seals in this format stand in `thoughtSignature`, which typed SDKs decode as base64 at once. A foreign seal is therefore
 * written as base64 of its usual form; Google's signatures are written unchanged.
 */

/** Encodes a seal as a `thoughtSignature`. */
export const writeSignature = (seal: Sealed): string => writeSealBase64(seal, 'gemini')

/** Decodes a `thoughtSignature` to a seal. */
export const readSignature = (signature: string): Sealed => readSealBase64(signature, 'gemini')

/**
 * Google also signs texts and images, and requires the signature back on the same part. Other formats have no seal there, but
 * all carry reasoning: the signature becomes a reasoning part without text, marked with the kind of its part. `empty` is the
 * signature of an empty text, with which streams end.
 */
export type SignedKind = 'text' | 'empty' | 'media'
const marks = { text: '@text:', empty: '@empty:', media: '@media:' } as const satisfies Record<SignedKind, string>

/** Creates the reasoning part of a signature. */
export const createSignaturePart = (kind: SignedKind, signature: string, at: string): ReasoningPart => ({
  type: 'reasoning',
  text: '',
  seal: { issuer: 'gemini', data: marks[kind] + signature },
  at,
})

/** Returns the kind of part and the signature of a marked seal, or undefined for a seal of reasoning. */
export function readSignaturePart(part: ReasoningPart): { kind: SignedKind; signature: string } | undefined {
  const { seal, text } = part
  if (seal?.issuer !== 'gemini' || text !== '' || !seal.data.startsWith('@')) return undefined
  for (const kind of ['text', 'empty', 'media'] as const)
    if (seal.data.startsWith(marks[kind])) return { kind, signature: seal.data.slice(marks[kind].length) }
  return undefined
}

/** Marks before the data of a foreign seal, for properties that a thought part cannot express. */
const redactedMark = '@redacted:'
const summaryMark = '@summary:'

/** Returns the signature of a thought part, with marks for foreign seals. */
export function thoughtSignature(part: ReasoningPart): string | undefined {
  const { seal } = part
  if (seal === undefined) return undefined
  if (seal.issuer === 'gemini') return seal.data
  const mark = part.redacted ? redactedMark : part.summary ? summaryMark : ''
  return writeSignature({ issuer: seal.issuer, data: mark + seal.data })
}

/** Decodes the signature of a thought part, and assigns the seal to the part. */
export function applyThoughtSignature(part: ReasoningPart, signature: string): void {
  const seal = readSignature(signature)
  let { data } = seal
  if (seal.issuer !== 'gemini' && data.startsWith(redactedMark)) {
    part.redacted = true
    data = data.slice(redactedMark.length)
  } else if (seal.issuer !== 'gemini' && data.startsWith(summaryMark)) {
    part.summary = true
    data = data.slice(summaryMark.length)
  }
  part.seal = { issuer: seal.issuer, data }
}

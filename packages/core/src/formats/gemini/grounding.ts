import { isObject, type Json, type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { Citation, Nothing } from '../ir.ts'
import { drop, leftover, putBack, takeArray, takeNumber, takeString, unread } from '../shared/json-fields.ts'
import { loss, reportCitation } from '../shared/report.ts'
import { TextOffsets } from './text-offsets.ts'

/**
 * Converts grounding metadata to citations and back. The sources of a response stand outside its content:
 *
 *     groundingChunks     the sources (0, 1, …)
 *     groundingSupports   bytes 0 to 12 of part 0  →  chunks 0, 3
 *     citationMetadata    recited training data, with offsets into the whole text
 *
 * In the IR each pair of support and chunk is a citation of the text part. Supports without a known source stay in `extra`.
 */

/** The citations of one candidate. */
export interface Sources {
  /** Citations of the text part at this index among the content's parts. */
  readonly byPart: ReadonlyMap<number, Citation[]>
}

/** Returns the text of a part, to convert byte offsets to characters. */
export type TextAt = (part: number) => TextOffsets | undefined

/** Characters that the citations of any response may have. */
const freeChars = 1 << 20
/** How often the metadata's characters may be repeated in addition. */
const maxCopies = 8

/**
 * Bounds the size of citations. Supports refer to sources by number, and citations repeat them, so a few kilobytes could become
 * gigabytes. Supports beyond the allowance stay in `extra`, and are reported.
 */
export class CitationAllowance {
  #left = freeChars

  /** Adds the allowance for metadata of a number of characters. */
  grant(chars: number): void {
    this.#left += maxCopies * chars
  }

  /** Subtracts characters, or returns false if the allowance has fewer. */
  tryTake(chars: number): boolean {
    if (chars > this.#left) return false
    this.#left -= chars
    return true
  }
}

/** Decodes the sources of a candidate, and removes them from `fields`. */
export function decodeSources(fields: JsonObject, textAt: TextAt, allowance = new CitationAllowance()): Sources {
  const byPart = new Map<number, Citation[]>()
  const add = (part: number, citation: Citation): void => {
    const list = byPart.get(part)
    if (list === undefined) byPart.set(part, [citation])
    else list.push(citation)
  }
  decodeGrounding(fields, textAt, allowance, add)
  decodeRecitations(fields, textAt, add)
  return { byPart }
}

function decodeGrounding(
  fields: JsonObject,
  textAt: TextAt,
  allowance: CitationAllowance,
  add: (part: number, citation: Citation) => void,
): void {
  if (!isObject(fields.groundingMetadata)) return
  const meta = unread(fields.groundingMetadata)
  const chunks = takeArray(meta, 'groundingChunks') ?? []
  const sources = createSourceLookup(chunks, allowance)
  const supports = takeArray(meta, 'groundingSupports') ?? []
  const used = new Set<number>()
  const kept: Json[] = []
  for (const support of supports) {
    const citations = isObject(support) ? decodeSupport(support, sources, textAt) : undefined
    if (citations === undefined) {
      kept.push(support)
      continue
    }
    for (const { part, chunk, citation } of citations) {
      used.add(chunk)
      add(part, citation)
    }
  }
  // Supports refer to chunks by number: if one support stays, all chunks must stay.
  const left = kept.length > 0 ? chunks : chunks.filter((_, index) => !used.has(index))
  if (kept.length > 0) putBack(meta, 'groundingSupports', kept)
  if (left.length > 0) putBack(meta, 'groundingChunks', left)
  const rest = leftover(meta)
  if (rest === undefined) drop(fields, 'groundingMetadata')
  else fields.groundingMetadata = rest
}

/** Citations of chunks. Each chunk is decoded once, because any number of supports can name it. */
interface SourceLookup {
  /** Returns the citation of a chunk, or undefined. */
  citationOf(index: Json): Citation | undefined
  /** Subtracts the citations of a support from the allowance, or returns false. */
  tryCite(support: JsonObject, indices: readonly Json[]): boolean
}

function createSourceLookup(chunks: readonly Json[], allowance: CitationAllowance): SourceLookup {
  const known = new Map<number, { citation: Citation; chars: number } | undefined>()

  function read(index: Json): { citation: Citation; chars: number } | undefined {
    if (typeof index !== 'number') return undefined
    if (!known.has(index)) {
      const chunk = chunks[index]
      const chars = isObject(chunk) && leftover(chunk) !== undefined ? JSON.stringify(chunk).length : 0
      allowance.grant(chars)
      known.set(index, isObject(chunk) && chars > 0 ? { citation: decodeChunk(chunk), chars } : undefined)
    }
    return known.get(index)
  }

  return {
    citationOf: (index) => read(index)?.citation,
    tryCite(support, indices) {
      const own = JSON.stringify(support).length
      allowance.grant(own)
      let chars = own * indices.length
      for (const index of indices) chars += read(index)?.chars ?? 0
      return allowance.tryTake(chars)
    },
  }
}

function decodeSupport(
  support: JsonObject,
  sources: SourceLookup,
  textAt: TextAt,
): { part: number; chunk: number; citation: Citation }[] | undefined {
  const fields = unread(support)
  const segment = isObject(fields.segment) ? unread(fields.segment) : undefined
  const indices = takeArray(fields, 'groundingChunkIndices') ?? []
  if (segment === undefined || indices.length === 0 || !sources.tryCite(support, indices)) return undefined
  const scores = takeArray(fields, 'confidenceScores')
  drop(fields, 'segment')
  const part = takeNumber(segment, 'partIndex') ?? 0
  const text = textAt(part)
  if (text === undefined) return undefined
  const cited = takeString(segment, 'text')
  const end = takeNumber(segment, 'endIndex')
  const start = takeNumber(segment, 'startIndex') ?? (end === undefined ? undefined : 0)
  const rest = leftover(segment)
  if (rest !== undefined) putBack(fields, 'segment', rest)
  const out: { part: number; chunk: number; citation: Citation }[] = []
  for (const [position, index] of indices.entries()) {
    const source = sources.citationOf(index)
    if (typeof index !== 'number' || source === undefined) return undefined
    const citation = { ...source }
    put(citation, 'text', cited)
    if (start !== undefined) citation.start = text.charAt(start)
    if (end !== undefined) citation.end = text.charAt(end)
    const own: JsonObject = { ...citation.extra?.gemini, ...leftover(fields) }
    const score = scores?.[position]
    if (score !== undefined) own.confidenceScore = score
    if (Object.keys(own).length > 0) citation.extra = { gemini: own }
    out.push({ part, chunk: index, citation })
  }
  return out
}

/** Decodes a source: a web page, or another kind (`retrievedContext`, `maps`, `image`), which `extra` names. */
function decodeChunk(chunk: JsonObject): Citation {
  const citation: Citation = {}
  const [kind = ''] = Object.keys(chunk)
  const source = chunk[kind]
  if (!isObject(source)) return { extra: { gemini: { chunk } } }
  const fields = unread(source)
  put(citation, 'url', takeString(fields, 'uri'))
  put(citation, 'title', takeString(fields, 'title'))
  const others = { ...chunk }
  const rest = leftover(fields)
  if (kind === 'web' && rest === undefined) delete others[kind]
  else others[kind] = rest ?? {}
  if (Object.keys(others).length > 0) citation.extra = { gemini: { chunk: others } }
  return citation
}

/** Decodes citations of recited training data: offsets into the whole text, and a licence. */
function decodeRecitations(fields: JsonObject, textAt: TextAt, add: (part: number, citation: Citation) => void): void {
  if (!isObject(fields.citationMetadata)) return
  const meta = unread(fields.citationMetadata)
  const list = takeArray(meta, 'citationSources') ?? takeArray(meta, 'citations')
  const text = textAt(0)
  if (list === undefined || text === undefined || !list.every(isObject)) return
  for (const source of list) {
    const inner = unread(source)
    const citation: Citation = {}
    put(citation, 'url', takeString(inner, 'uri'))
    put(citation, 'title', takeString(inner, 'title'))
    const end = takeNumber(inner, 'endIndex')
    const start = takeNumber(inner, 'startIndex') ?? (end === undefined ? undefined : 0)
    if (start !== undefined) citation.start = text.charAt(start)
    if (end !== undefined) citation.end = text.charAt(end)
    citation.extra = { gemini: { recitation: leftover(inner) ?? {} } }
    add(0, citation)
  }
  const rest = leftover(meta)
  if (rest === undefined) drop(fields, 'citationMetadata')
  else fields.citationMetadata = rest
}

/** Encodes citations as `groundingMetadata` and `citationMetadata`, merged with those in `out`. */
export function encodeSources(
  cited: readonly { part: number; text: string; citations: readonly Citation[]; at: string }[],
  out: JsonObject,
  context: CodecContext,
): void {
  const meta: JsonObject = isObject(out.groundingMetadata) ? { ...out.groundingMetadata } : {}
  const chunks: Json[] = Array.isArray(meta.groundingChunks) ? [...meta.groundingChunks] : []
  const supports = Array.isArray(meta.groundingSupports) ? [...meta.groundingSupports] : []
  const before = supports.length
  const keys = new Map<string, number>(chunks.map((chunk, index) => [sourceKey(chunk), index]))
  const segments = new Map<string, JsonObject>()
  const recitations: JsonObject[] = []
  for (const { part, text, citations, at } of cited) {
    const offsets = new TextOffsets(text)
    for (const citation of citations) {
      const { url, title, text: quote, start, end, extra, ...rest } = citation
      rest satisfies Nothing
      const own = extra?.gemini
      reportCitation(
        extra,
        'gemini',
        at,
        'a citation of generateContent has a URL, a title, a text and offsets',
        context.report,
      )
      const range: JsonObject = {}
      if (start !== undefined && start > 0) range.startIndex = offsets.byteAt(start)
      if (end !== undefined) range.endIndex = offsets.byteAt(end)
      if (isObject(own?.recitation)) {
        const source: JsonObject = { ...own.recitation, ...range }
        put(source, 'uri', url)
        put(source, 'title', title)
        recitations.push(source)
        continue
      }
      const { chunk: kind, confidenceScore: score, ...otherFields } = own ?? {}
      const chunk = encodeChunk(url, title, isObject(kind) ? kind : {})
      if (chunk === undefined) {
        context.report.add(loss(at, `a citation without a source cannot be sent in generateContent: ${quote ?? ''}`))
        continue
      }
      const key = sourceKey(chunk)
      let index = keys.get(key)
      if (index === undefined) {
        index = chunks.push(chunk) - 1
        keys.set(key, index)
      }
      const segment: JsonObject = { ...range }
      if (part > 0) segment.partIndex = part
      put(segment, 'text', quote)
      addSupport(segment, index, score, otherFields, segments, supports)
    }
  }
  if (chunks.length > 0) meta.groundingChunks = chunks
  if (supports.length > before) meta.groundingSupports = supports
  if (Object.keys(meta).length > 0) out.groundingMetadata = meta
  if (recitations.length > 0)
    out.citationMetadata = {
      ...(isObject(out.citationMetadata) ? out.citationMetadata : undefined),
      citationSources: recitations,
    }
}

/** Adds a chunk to the support of a text segment. Each segment has one support with all of its chunks. */
function addSupport(
  segment: JsonObject,
  chunk: number,
  score: Json | undefined,
  otherFields: JsonObject,
  segments: Map<string, JsonObject>,
  supports: Json[],
): void {
  const key = stringifyExact([segment, otherFields])
  let support = segments.get(key)
  if (support === undefined) {
    support = {
      ...otherFields,
      segment: isObject(otherFields.segment) ? { ...otherFields.segment, ...segment } : segment,
      groundingChunkIndices: [],
    }
    segments.set(key, support)
    supports.push(support)
  }
  ;(support.groundingChunkIndices as Json[]).push(chunk)
  if (score !== undefined)
    if (Array.isArray(support.confidenceScores)) support.confidenceScores.push(score)
    else support.confidenceScores = [score]
}

/** Returns a key that is equal for equal sources. */
const sourceKey = (chunk: Json): string => stringifyExact(sortKeys(chunk))

function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isObject(value)) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([key, item]) => [key, sortKeys(item)]))
}

function encodeChunk(url: string | undefined, title: string | undefined, kind: JsonObject): JsonObject | undefined {
  const [name = 'web'] = Object.keys(kind)
  const own = kind[name]
  const source: JsonObject = { ...(isObject(own) ? own : undefined) }
  put(source, 'uri', url)
  put(source, 'title', title)
  if (Object.keys(source).length === 0) return undefined
  return { ...kind, [name]: source }
}

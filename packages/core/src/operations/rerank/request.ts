import * as z from 'zod'
import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { complain } from '../../formats/chat/validate.ts'
import { take, takeArray, takeBoolean, takeNumber, takeString, type Unread } from '../../formats/shared/json-fields.ts'
import { pointer } from '../../formats/shared/pointers.ts'
import { loss } from '../../formats/shared/report.ts'
import { arrayOf, validateBody } from '../../formats/shared/validate.ts'
import type { OperationContext, TargetContext } from '../operation.ts'

export interface RerankDocument {
  /** What is ranked. Absent: it is no text (an image). */
  readonly text?: string
  /** As the client wrote it, where that was an object. */
  readonly source?: JsonObject
}

export type SettingName = 'topN' | 'maxTokens' | 'maxChunks' | 'truncate'

export interface RerankRequest {
  readonly model: string
  readonly query: string
  readonly documents: readonly RerankDocument[]
  /** Number of results wanted. Default: as many as there are documents. */
  readonly topN?: number
  /** The results are to repeat the documents. */
  readonly returnDocuments: boolean
  /** Tokens of each document that are looked at. */
  readonly maxTokens?: number
  /** Pieces into which each document is cut at most. */
  readonly maxChunks?: number
  /** Whether documents that are too long are cut, or refused. */
  readonly truncate?: boolean
  /** Where the settings stand in the client's body. */
  readonly at: { readonly [S in SettingName]?: string }
}

const integer = (least: number) => z.number({ error: 'an integer' }).int({ error: 'an integer' }).min(least).nullish()

/** Fields that a request has in every dialect of clients. */
const common = {
  model: z.string().min(1),
  query: z.string(),
  top_n: integer(1),
}

const v2 = z.looseObject({
  ...common,
  documents: arrayOf(z.string(), 'an array of strings').min(1),
  max_tokens_per_doc: integer(1),
})

const document = z.union([z.string(), z.looseObject({})], { error: 'one of a string or an object' })
const v1 = z.looseObject({
  ...common,
  documents: arrayOf(document, 'an array of strings or objects').min(1),
  return_documents: z.boolean().nullish(),
  rank_fields: arrayOf(z.string(), 'an array of strings').nullish(),
  max_chunks_per_doc: integer(1),
  max_tokens_per_doc: integer(1),
  truncation: z.boolean().nullish(),
})

export const validateV1 = (body: Json): JsonObject => validateBody(v1, body, complain)
export const validateV2 = (body: Json): JsonObject => validateBody(v2, body, complain)

const isStrings = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Takes what requests of both client dialects may hold. */
export function decodeBody(fields: Unread, { report }: OperationContext): RerankRequest {
  const at: { [S in SettingName]?: string } = {}
  const rankFields = take(fields, 'rank_fields', isStrings)
  const documents = takeArray(fields, 'documents') ?? []
  const ranks = rankFields && new Map([...new Set(rankFields)].map((key, rank) => [key, rank]))
  const out: { -readonly [K in keyof RerankRequest]: RerankRequest[K] } = {
    model: takeString(fields, 'model') ?? '',
    query: takeString(fields, 'query') ?? '',
    documents: documents.map((item) => decodeDocument(item, ranks)),
    returnDocuments: takeBoolean(fields, 'return_documents') ?? false,
    at,
  }
  const note = <K extends 'topN' | 'maxTokens' | 'maxChunks' | 'truncate'>(
    name: K,
    key: string,
    value: RerankRequest[K] | undefined,
  ): void => {
    if (value === undefined) return
    at[name] = pointer('', key)
    put(out, name, value)
  }
  note('topN', 'top_n', takeNumber(fields, 'top_n'))
  note('maxTokens', 'max_tokens_per_doc', takeNumber(fields, 'max_tokens_per_doc'))
  note('maxChunks', 'max_chunks_per_doc', takeNumber(fields, 'max_chunks_per_doc'))
  note('truncate', 'truncation', takeBoolean(fields, 'truncation'))
  // The other fields of a document come back with it; they are not what is ranked.
  const beside = out.documents.findIndex(({ source }) => Object.keys(source ?? {}).some((key) => key !== 'text'))
  if (rankFields === undefined && beside >= 0 && out.documents[beside]?.text !== undefined)
    report.add(loss(pointer('/documents', beside), 'only the text of a document is ranked', 'approximated', 'note'))
  return out
}

/** Where fields are named, they are ranked in their order, each with its name, as Cohere does it. */
function decodeDocument(item: Json, ranks: ReadonlyMap<string, number> | undefined): RerankDocument {
  if (typeof item === 'string') return { text: item }
  const source = isObject(item) ? item : {}
  // By the document's own fields: to look for each ranked field in each document would take the product of both numbers.
  const named =
    ranks === undefined
      ? []
      : Object.keys(source)
          .filter((key) => ranks.has(key) && source[key] !== null)
          .sort((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0))
  if (named.length > 0) {
    const lines = named.map(
      (key) => `${key}: ${typeof source[key] === 'string' ? source[key] : stringifyExact(source[key])}`,
    )
    return { text: lines.join('\n'), source }
  }
  return typeof source.text === 'string' ? { text: source.text, source } : { source }
}

/** The documents as texts. One without a text refuses the call. */
export const documentsAsTexts = ({ documents }: RerankRequest, { report }: TargetContext): string[] =>
  documents.map(({ text }, index) => {
    if (text === undefined)
      report.add(loss(pointer('/documents', index), 'the upstream ranks texts: give a text', 'unsupported', 'fatal'))
    return text ?? ''
  })

/** Reports settings that the upstream has no field for. */
export function reportUnsupportedSettings(
  request: RerankRequest,
  names: readonly SettingName[],
  { report }: TargetContext,
): void {
  for (const name of names) {
    const place = request.at[name]
    if (request[name] !== undefined && place !== undefined)
      report.add(loss(place, `${place.slice(1)} has no counterpart in the upstream's dialect`))
  }
}

import { isObject, type Json, type JsonObject, pointer, put, stringifyExact } from '../../base/json/json.ts'
import { complain } from '../../formats/chat/validate.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { take, takeArray, takeBoolean, takeNumber, takeString, type Unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { arrayOf, bodyCheck } from '../../formats/shared/validate.ts'
import type { OperationContext, TargetContext } from '../operation.ts'

export interface RerankDocument {
  /** Text to rank. Absent for a document without text, such as an image. */
  readonly text?: string
  /** The document as the client wrote it, if that was an object. */
  readonly source?: JsonObject
}

export type SettingName = 'topN' | 'maxTokens' | 'maxChunks' | 'truncate'

export interface RerankRequest {
  readonly model: string
  readonly query: string
  readonly documents: readonly RerankDocument[]
  /** Number of results. Default: one for each document. */
  readonly topN?: number
  /** The response repeats the documents. */
  readonly returnDocuments: boolean
  /** Number of tokens of each document that are read. */
  readonly maxTokens?: number
  /** Maximum number of chunks per document. */
  readonly maxChunks?: number
  /** Truncates long documents instead of rejecting them. */
  readonly truncate?: boolean
  /** Positions of the settings in the client's body. */
  readonly at: { readonly [S in SettingName]?: string }
}

const integer = (least: number) => z.number({ error: 'an integer' }).int({ error: 'an integer' }).min(least).nullish()

/** Fields of both client dialects. */
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

export const validateV1 = bodyCheck(v1, complain)
export const validateV2 = bodyCheck(v2, complain)

const isStrings = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Decodes the fields of both client dialects. */
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
  // Other fields of a document are returned with it, but are not ranked.
  const withOtherFields = out.documents.findIndex(({ source }) =>
    Object.keys(source ?? {}).some((key) => key !== 'text'),
  )
  if (rankFields === undefined && withOtherFields >= 0 && out.documents[withOtherFields]?.text !== undefined)
    report.add(
      loss(pointer('/documents', withOtherFields), 'only the text of a document is ranked', 'approximated', 'note'),
    )
  return out
}

/** Decodes a document. With `rank_fields` those fields are ranked in their order, each with its name, as Cohere does. */
function decodeDocument(item: Json, ranks: ReadonlyMap<string, number> | undefined): RerankDocument {
  if (typeof item === 'string') return { text: item }
  const source = isObject(item) ? item : {}
  // Iterates over the document's fields. Looking up each ranked field in each document would cost the product of both numbers.
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

/** Returns the documents as texts. A document without text is a fatal loss. */
export const documentsAsTexts = ({ documents }: RerankRequest, { report }: TargetContext): string[] =>
  documents.map(({ text }, index) => {
    if (text === undefined)
      report.add(
        loss(pointer('/documents', index), 'the upstream ranks only text: send a text', 'unsupported', 'fatal'),
      )
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
      report.add(loss(place, `${place.slice(1)} has no counterpart in the API format of the upstream`))
  }
}

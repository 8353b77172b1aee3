import { type JsonObject, pointer, put } from '../../base/json/json.ts'
import { describeIssue } from '../../formats/converse/validate.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { takeAny, takeNumber, takeString, unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { arrayOf, bodyCheck } from '../../formats/shared/validate.ts'
import { type ClientDialect, reportUnread } from '../operation.ts'
import type { EmbeddingsRequest, SettingName, Task } from './request.ts'
import { type EmbeddingsResponse, toNumbers } from './response.ts'

const text = z.string()

const schema = z.looseObject({
  texts: arrayOf(text).min(1),
  input_type: text,
  truncate: text.nullish(),
  output_dimension: z.int().min(1).nullish(),
  embedding_types: arrayOf(text).nullish(),
})

const tasks: { readonly [word: string]: Task } = {
  search_query: 'query',
  search_document: 'document',
  classification: 'classification',
  clustering: 'clustering',
}

const truncations: { readonly [word: string]: 'none' | 'start' | 'end' } = {
  NONE: 'none',
  START: 'start',
  LEFT: 'start',
  END: 'end',
  RIGHT: 'end',
}

const wordIn = <T>(table: { readonly [word: string]: T }, word: string | undefined): T | undefined =>
  word !== undefined && Object.hasOwn(table, word) ? table[word] : undefined

/** The bodies of Cohere's embeddings in InvokeModel. */
export const cohereInvoke: ClientDialect<EmbeddingsRequest, EmbeddingsResponse> = {
  name: 'cohere-invoke',
  validate: bodyCheck(schema, describeIssue),

  decodeRequest(body, { report }) {
    const { stream: _, ...fields } = unread(body)
    const at: { [S in SettingName]?: string } = {}
    const texts = takeAny(fields, 'texts')
    const request: { -readonly [K in keyof EmbeddingsRequest]: EmbeddingsRequest[K] } = {
      model: takeString(fields, 'model') ?? '',
      inputs: (Array.isArray(texts) ? texts : []).map((item, index) => ({
        at: pointer('/texts', index),
        text: String(item),
      })),
      encoding: 'float',
      at,
    }
    put(request, 'task', wordIn(tasks, takeString(fields, 'input_type')))
    if (request.task === undefined) report.add(loss('/input_type', 'the gateway does not know this input type'))
    else at.task = '/input_type'
    put(request, 'truncate', wordIn(truncations, takeString(fields, 'truncate')))
    if (request.truncate !== undefined) at.truncate = '/truncate'
    put(request, 'dimensions', takeNumber(fields, 'output_dimension'))
    if (request.dimensions !== undefined) at.dimensions = '/output_dimension'
    const types = takeAny(fields, 'embedding_types')
    const others = (Array.isArray(types) ? types : []).filter((type) => type !== 'float')
    if (others.length > 0)
      report.add(loss('/embedding_types', `the upstream sends numbers only, not ${others.join(', ')}`))
    reportUnread(fields, report)
    if (types !== undefined) request.byType = true
    return request
  },

  encodeResponse({ vectors }, { request, newId }) {
    const float = vectors.map(toNumbers)
    const texts = request.inputs.map((input) => ('text' in input ? input.text : ''))
    const out: JsonObject = request.byType
      ? { embeddings: { float }, response_type: 'embeddings_by_type' }
      : { embeddings: float, response_type: 'embeddings_floats' }
    return { id: newId('emb_'), ...out, texts }
  },
}

import { put } from '../../base/json/json.ts'
import { describeIssue } from '../../formats/converse/validate.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { takeAny, takeNumber, takeString, unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { bodyCheck, optionalBoolean } from '../../formats/shared/validate.ts'
import { type ClientDialect, reportUnread } from '../operation.ts'
import type { EmbeddingsRequest, SettingName } from './request.ts'
import { type EmbeddingsResponse, toNumbers } from './response.ts'

const schema = z.looseObject({
  inputText: z.string().min(1),
  dimensions: z.int().min(1).nullish(),
  normalize: optionalBoolean,
  embeddingTypes: z.array(z.string()).nullish(),
})

/** The bodies of Titan's embeddings in InvokeModel: one text. */
export const titan: ClientDialect<EmbeddingsRequest, EmbeddingsResponse> = {
  name: 'titan',
  validate: bodyCheck(schema, describeIssue),

  decodeRequest(body, { report }) {
    const { stream: _, ...fields } = unread(body)
    const at: { [S in SettingName]?: string } = {}
    const request: { -readonly [K in keyof EmbeddingsRequest]: EmbeddingsRequest[K] } = {
      model: takeString(fields, 'model') ?? '',
      inputs: [{ at: '/inputText', text: takeString(fields, 'inputText') ?? '' }],
      encoding: 'float',
      at,
    }
    put(request, 'dimensions', takeNumber(fields, 'dimensions'))
    if (request.dimensions !== undefined) at.dimensions = '/dimensions'
    // Vectors are normalized by default, as those of other providers are.
    if (fields.normalize === true) delete fields.normalize
    const types = takeAny(fields, 'embeddingTypes')
    const others = (Array.isArray(types) ? types : []).filter((type) => type !== 'float')
    if (others.length > 0)
      report.add(loss('/embeddingTypes', `the upstream sends numbers only, not ${others.join(', ')}`))
    reportUnread(fields, report)
    return request
  },

  encodeResponse({ vectors, usage }, { report }) {
    if (usage === undefined)
      report.add(loss('', 'the upstream reported no usage; zeros are sent', 'approximated', 'note'))
    const [vector] = vectors
    const embedding = vector === undefined ? [] : toNumbers(vector)
    return { embedding, embeddingsByType: { float: embedding }, inputTextTokenCount: usage?.input.total ?? 0 }
  },
}

import { isObject, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { copyInCamelCase } from '../../formats/gemini/spelling.ts'
import type { Usage } from '../../formats/ir.ts'
import { unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { type Dialect, reportUnread } from '../operation.ts'
import {
  type DecodedRequest,
  encodeContent,
  mergeRequests,
  readSettings,
  type Settings,
  taskWords,
  usageFrom,
} from './gemini.ts'
import { validateInstances } from './gemini-validate.ts'
import {
  type EmbeddingsRequest,
  encodeTask,
  inputsAsTexts,
  reportUnsupportedSettings,
  truncatesAtEnd,
} from './request.ts'
import {
  checkVectors,
  decodeVector,
  type EmbeddingsResponse,
  inputUsage,
  invalidResponse,
  toNumbers,
} from './response.ts'

type EmbeddingsDialect = Dialect<EmbeddingsRequest, EmbeddingsResponse>

/**
 * Returns whether a model is called with contents. Google's SDK makes the same distinction: newer models and hosted models of other vendors
 * are.
 */
const takesContents = (model: string): boolean =>
  (model.includes('gemini') && model !== 'gemini-embedding-001') || model.includes('maas')

/** `:predict` on Vertex AI: texts to one vector each. */
export const vertex: EmbeddingsDialect = {
  name: 'vertex',
  errors: 'gemini',
  modelInPath: '/{model}:predict',
  serves: (model) => !takesContents(model),

  validate: validateInstances,

  decodeRequest(body, context) {
    const { model, stream: _, instances, parameters, ...rest } = body
    const common = unread(isObject(parameters) ? parameters : {})
    const settings: Settings = {}
    const at: DecodedRequest['at'] = {}
    readSettings(common, isObject(parameters) ? parameters : {}, '/parameters', settings, at)
    reportUnread(common, context.report, '/parameters')
    const items = (Array.isArray(instances) ? instances : [])
      .filter(isObject)
      .map((instance, index): DecodedRequest => {
        const place = pointer('/instances', index)
        const instanceSettings: Settings = {}
        const instanceAt: DecodedRequest['at'] = {}
        const { content, ...fields } = copyInCamelCase(instance)
        if (typeof content !== 'string')
          context.report.add(loss(place, 'the upstream embeds only text', 'unsupported', 'fatal'))
        readSettings(fields, instance, place, instanceSettings, instanceAt)
        reportUnread(fields, context.report, place)
        return {
          input: { at: pointer(place, 'content'), text: typeof content === 'string' ? content : '' },
          settings: { ...instanceSettings, ...settings },
          at: { ...instanceAt, ...at },
        }
      })
    return { model: String(model), ...mergeRequests(items, context, rest) }
  },

  encodeResponse({ vectors, usage }, { report }) {
    const [only, second] = vectors
    const isSingle = only !== undefined && second === undefined
    if (usage !== undefined && !isSingle)
      report.add(loss('/usage', 'the token counts of single texts are unknown', 'unsupported', 'note'))
    const statistics = usage === undefined || !isSingle ? {} : { statistics: { token_count: usage.input.total } }
    return { predictions: vectors.map((vector) => ({ embeddings: { values: toNumbers(vector), ...statistics } })) }
  },

  encodeRequest(request, context) {
    const { inputs, dimensions, title } = request
    reportUnsupportedSettings(request, ['user'], context)
    const task = encodeTask(request, taskWords, context)
    const instances = inputsAsTexts(inputs, context).map((content) => {
      const instance: JsonObject = { content }
      put(instance, 'task_type', task)
      put(instance, 'title', title)
      return instance
    })
    const parameters: JsonObject = {}
    put(parameters, 'outputDimensionality', dimensions)
    put(parameters, 'autoTruncate', truncatesAtEnd(request, context))
    return { instances, ...(Object.keys(parameters).length === 0 ? {} : { parameters }) }
  },

  decodeResponse(body, context) {
    if (!isObject(body) || !Array.isArray(body.predictions)) throw invalidResponse('it has no predictions')
    const found = body.predictions.map((item) => (isObject(item) && isObject(item.embeddings) ? item.embeddings : {}))
    const usage = totalUsage(found)
    return {
      vectors: checkVectors(
        found.map(({ values }) => decodeVector(values)),
        context,
      ),
      ...(usage === undefined ? {} : { usage }),
    }
  },

  isResponse: ({ predictions }) => Array.isArray(predictions),
  tapResponse({ predictions }) {
    const found = (Array.isArray(predictions) ? predictions : []).map((item) =>
      isObject(item) && isObject(item.embeddings) ? item.embeddings : {},
    )
    const usage = found.length === 0 ? undefined : totalUsage(found)
    return usage === undefined ? {} : { usage }
  },
}

/** Adds up the token counts of the vectors. Returns undefined if one has none. */
function totalUsage(embeddings: readonly JsonObject[]): Usage | undefined {
  let total = 0
  for (const { statistics } of embeddings) {
    const count = isObject(statistics) ? statistics.token_count : undefined
    if (typeof count !== 'number') return undefined
    total += count
  }
  return inputUsage(total)
}

/** `:embedContent` on Vertex AI: one content, one vector. */
export const vertexContent: EmbeddingsDialect = {
  name: 'vertex-content',
  errors: 'gemini',
  modelInPath: '/{model}:embedContent',
  serves: takesContents,

  encodeRequest(request, context) {
    const { inputs, dimensions, title } = request
    const [input] = inputs
    if (input === undefined || inputs.length > 1)
      context.report.add(
        loss('/input', `the model accepts one input per call, not ${inputs.length}`, 'unsupported', 'fatal'),
      )
    reportUnsupportedSettings(request, ['user'], context)
    const config: JsonObject = {}
    put(config, 'taskType', encodeTask(request, taskWords, context))
    put(config, 'title', title)
    put(config, 'outputDimensionality', dimensions)
    put(config, 'autoTruncate', truncatesAtEnd(request, context))
    return {
      content: { role: 'user', ...(input === undefined ? { parts: [] } : encodeContent(input, context)) },
      ...(Object.keys(config).length === 0 ? {} : { embedContentConfig: config }),
    }
  },

  decodeResponse(body, context) {
    if (!isObject(body) || !isObject(body.embedding)) throw invalidResponse('it has no embedding')
    const usage = usageFrom(body)
    return {
      vectors: checkVectors([decodeVector(body.embedding.values)], context),
      ...(usage === undefined ? {} : { usage }),
    }
  },

  isResponse: ({ embedding }) => isObject(embedding),
  tapResponse: () => ({}),
}

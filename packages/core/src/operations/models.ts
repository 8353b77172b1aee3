import { GatewayError } from '../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import type { Operation } from '../base/names.ts'
import { jsonReply } from '../calls/reply.ts'
import { toCohereList, toCohereModel } from '../formats/chat/cohere-list.ts'
import { toMistralList, toMistralModel } from '../formats/chat/mistral-list.ts'
import { toOpenRouterList, toOpenRouterModel } from '../formats/chat/openrouter-list.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import { toPublisherList, toPublisherModel } from '../formats/gemini/publisher-list.ts'
import type { ModelDescription } from '../formats/model-card.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { modelDescriber } from './describe-models.ts'
import type { Handler, Route } from './route.ts'

let firstListedAt: number | undefined

/**
 * Returns the time of the first listing in this process, in seconds since 1970. No better date is known, and clients expect one that does
 * not change. Not read when the module loads: some runtimes have no clock then.
 */
function firstListed(): number {
  firstListedAt ??= Math.floor(Date.now() / 1000)
  return firstListedAt
}

/** Returns the models that a caller may use, in the client's format. The query may request a page. */
export const handleListModels: Handler = async ({ codec, shared, record, inbound, route }) => {
  const { encodeModelList } = await codec.loadModelList()
  const describe = await modelDescriber(shared, false)
  const names = shared.router.list(record.identity)
  const query = new URLSearchParams(inbound.query)
  const list = encodeModelList(names, describe, query, firstListed())
  return jsonReply(record, dialectOf(route, codec).list(list, describe, query))
}

/** Returns one model, which the path or the body names. Rejects with a 404 for an unknown one. */
export const handleGetModel: Handler = async (call) => {
  const { codec, shared, record, route, params } = call
  const model = params.model ?? modelIn(await call.readBody(anyBody))
  checkKnown(model, shared.router.has(model, record.identity))
  const { encodeModel } = await codec.loadModelList()
  const describe = await modelDescriber(shared, false)
  const description = describe(model)
  return jsonReply(record, dialectOf(route, codec).entry(encodeModel(description, firstListed()), description))
}

/** The types of models that Azure AI inference has, by operation. The first one that a model supports is its type. */
const modelTypes: readonly (readonly [Operation, string])[] = [
  ['generate', 'chat_completion'],
  ['embeddings', 'embeddings'],
  ['images', 'image_generation'],
  ['speech', 'audio_generation'],
  ['completions', 'text_generation'],
]

/** Describes one model, as clients of Azure AI inference ask for that of their endpoint. */
export const handleModelInfo: Handler = async ({ shared, record, inbound }) => {
  const listed = shared.router.list(record.identity)
  const requested = new URLSearchParams(inbound.query).get('model')
  const name = requested ?? (listed.length === 1 ? listed[0] : undefined)
  if (name === undefined)
    throw new GatewayError(
      'invalid_request',
      `model: this endpoint has ${listed.length} models. Add the query parameter 'model' with the name of one.`,
      { param: 'model' },
    )
  checkKnown(name, shared.router.has(name, record.identity))
  const describe = await modelDescriber(shared, false)
  const { operations } = describe(name)
  const [, type = 'chat_completion'] = modelTypes.find(([operation]) => operations.includes(operation)) ?? []
  return jsonReply(record, { model_name: name, model_type: type, model_provider_name: 'modelgate' })
}

const anyBody = (body: Json): JsonObject => (isObject(body) ? body : {})

/** Returns the model that a body names. Throws GatewayError `invalid_request` if it names none. */
function modelIn({ value: { model } }: RequestBody): string {
  if (typeof model === 'string' && model !== '') return model
  throw new GatewayError('invalid_request', 'model is required', { param: 'model' })
}

/** Changes a list, and an entry of one, for clients that require members which the format does not have. */
interface ListDialect {
  list(list: JsonObject, describe: (name: string) => ModelDescription, query: URLSearchParams): JsonObject
  entry(entry: JsonObject, model: ModelDescription): JsonObject
}

const unchanged: ListDialect = { list: (list) => list, entry: (entry) => entry }

const listDialects: Readonly<Record<NonNullable<Route['listDialect']>, ListDialect>> = {
  cohere: { list: toCohereList, entry: toCohereModel },
  mistral: { list: toMistralList, entry: toMistralModel },
  openrouter: { list: toOpenRouterList, entry: toOpenRouterModel },
  publisher: { list: toPublisherList, entry: toPublisherModel },
}

/** Returns the dialect of a route. A header may have selected another format than the route's own, which has no dialects. */
const dialectOf = ({ listDialect, format }: Route, codec: Pick<ClientWireCodec, 'format'>): ListDialect =>
  listDialect === undefined || codec.format !== format ? unchanged : listDialects[listDialect]

function checkKnown(name: string, isKnown: boolean): void {
  if (!isKnown)
    throw new GatewayError(
      'model_not_found',
      `The model '${name.slice(0, 100)}' does not exist or you do not have access to it.`,
      {
        param: 'model',
      },
    )
}

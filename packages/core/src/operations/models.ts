import { GatewayError } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import { jsonReply } from '../calls/reply.ts'
import type { ClientCodec } from '../formats/codec.ts'
import { loadFullCodec } from '../formats/codec-registry.ts'
import type { Handler } from './route.ts'

let firstListedAt: number | undefined

/**
 * Returns the time of the first listing in this process, in seconds since 1970. No better date is known, and clients expect one that does
 * not change. Not read when the module loads: some runtimes have no clock then.
 */
function firstListed(): number {
  firstListedAt ??= Math.floor(Date.now() / 1000)
  return firstListedAt
}

export const handleListModels: Handler = async ({ codec, shared, record, inbound }) =>
  jsonReply(record, listModels(await loadFullCodec(codec), shared.router.list(record.identity), inbound.query))

export const handleGetModel: Handler = async ({ codec, shared, record, params: { model = '' } }) =>
  jsonReply(record, getModel(await loadFullCodec(codec), model, shared.router.has(model, record.identity)))

/** Returns the models that a caller may use, in the client's format. `query` may request a page. */
const listModels = (codec: ClientCodec, names: readonly string[], query: string): JsonObject =>
  codec.encodeModelList(names, new URLSearchParams(query), firstListed())

/** Returns one model. Throws a 404 for an unknown one. */
function getModel(codec: ClientCodec, name: string, known: boolean): JsonObject {
  if (!known)
    throw new GatewayError(
      'model_not_found',
      `The model '${name.slice(0, 100)}' does not exist or you do not have access to it.`,
      {
        param: 'model',
      },
    )
  return codec.encodeModel(name, firstListed())
}

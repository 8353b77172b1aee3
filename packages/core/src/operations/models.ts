import { GatewayError } from '../base/errors.ts'
import { jsonReply } from '../calls/reply.ts'
import { loadFullCodec } from '../formats/codec-registry.ts'
import { modelDescriber } from './describe-models.ts'
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

/** Returns the models that a caller may use, in the client's format. The query may request a page. */
export const handleListModels: Handler = async ({ codec, shared, record, inbound }) => {
  const { encodeModelList } = await loadFullCodec(codec)
  const describe = await modelDescriber(shared, false)
  const names = shared.router.list(record.identity)
  return jsonReply(record, encodeModelList(names, describe, new URLSearchParams(inbound.query), firstListed()))
}

/** Returns one model. Rejects with a 404 for an unknown one. */
export const handleGetModel: Handler = async ({ codec, shared, record, params: { model = '' } }) => {
  checkKnown(model, shared.router.has(model, record.identity))
  const { encodeModel } = await loadFullCodec(codec)
  const describe = await modelDescriber(shared, false)
  return jsonReply(record, encodeModel(describe(model), firstListed()))
}

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
